import type { SinkLag } from '../../src/events/sink.ts';
import { type NatsSink, type NatsSinkOptions, natsSink } from '../../src/nats/nats-sink.ts';

/** A sink whose pump is listened to. */
export interface WatchedSink {
  readonly sink: NatsSink;
  /** Resolves once the pump tells of a place that fits: it does so after each batch and each failure. */
  told(fits: (lag: SinkLag) => boolean): Promise<void>;
}

/** Makes a {@link WatchedSink}. */
export function watchedSink(options: NatsSinkOptions): WatchedSink {
  const sink = natsSink(options);
  const observe = sink.observe?.bind(sink);
  const waiting = new Set<() => void>();
  let last: SinkLag | undefined;
  sink.observe = (lag) => {
    observe?.(lag);
    last = lag;
    for (const look of waiting) look();
  };
  return {
    sink,
    told: (fits) =>
      new Promise((resolve) => {
        const look = () => {
          if (last === undefined || !fits(last)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}
