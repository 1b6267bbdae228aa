import { type FactFrame, FrameBuilder } from './fact-frame.ts';
import type { FactSource } from './fact-source.ts';
import type { MoveRing } from './move-ring.ts';
import { SharedReading } from './shared-reading.ts';

/** What happens, for the viewers of one page. */
export interface FactFrames {
  /** Position of the newest fact; 0 when there is none. */
  position(): Promise<number>;
  /**
   * Facts after a position, then those that come, until `signal` aborts: written once, as many as there are viewers.
   * Frames also come, without facts, where there are transitions only. Nothing is read for a viewer that takes no more.
   * @throws what the source throws
   */
  follow(after: number, signal: AbortSignal): AsyncGenerator<FactFrame, void, undefined>;
}

/** Makes {@link FactFrames}. While nobody looks nothing is read. */
export function createFactFrames(source: FactSource, ring: MoveRing): FactFrames {
  let reading: SharedReading | undefined;
  let viewers = 0;
  const join = async (): Promise<SharedReading> => {
    const position = await source.position();
    if (reading === undefined || reading.hasFailed) reading = new SharedReading(source, ring, position);
    return reading;
  };
  return {
    position: () => source.position(),
    async *follow(after, signal) {
      viewers += 1;
      try {
        yield* follow(await join(), source, { after, signal });
      } finally {
        viewers -= 1;
        if (viewers === 0) {
          reading?.stop();
          reading = undefined;
        }
      }
    },
  };
}

interface Place {
  readonly after: number;
  readonly signal: AbortSignal;
}

/** Who lies further back than the frames that are kept reads up to them alone. */
async function* follow(
  shared: SharedReading,
  source: FactSource,
  { after, signal }: Place,
): AsyncGenerator<FactFrame, void, undefined> {
  let at = after;
  let taken = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    if (taken < shared.oldest - 1) {
      const { position, made } = shared;
      yield* framesBetween(source, { after: at, upTo: position, signal });
      at = Math.max(at, position);
      taken = made;
      continue;
    }
    const frame = await shared.frame(taken + 1, signal);
    if (frame === undefined) continue;
    taken += 1;
    if (frame.after >= at) yield frame;
    // A viewer may begin in the middle of a frame, or behind it.
    else if (frame.last > at) yield* framesBetween(source, { after: at, upTo: frame.last, signal });
    else yield { after: at, last: at, text: undefined, missed: 0 };
    at = Math.max(at, frame.last);
  }
}

/** Ends with a frame in any case: there may be transitions since the viewer came. */
async function* framesBetween(
  source: FactSource,
  { after, upTo, signal }: Place & { readonly upTo: number },
): AsyncGenerator<FactFrame, void, undefined> {
  const builder = new FrameBuilder(after);
  for await (const fact of source.facts(after, signal, upTo)) {
    builder.add(fact);
    if (builder.isFull) yield builder.take();
  }
  if (!signal.aborted) yield builder.take(upTo);
}
