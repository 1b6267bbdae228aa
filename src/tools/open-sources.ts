import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import {
  type AnyToolSource,
  isToolSourceDefinition,
  type OpenToolSource,
  type ToolSource,
  type ToolSourceDefinition,
} from './tool-source.ts';

/** The sources that one runtime has opened. */
export interface OpenSources {
  /** The source itself, or what its definition opened: once in the life of the runtime. */
  of(source: AnyToolSource): ToolSource;
  /** Closes what was opened. One that cannot be closed keeps no other from it. */
  close(): Promise<void>;
}

export function createOpenSources(clock: Clock): OpenSources {
  const open = new Map<ToolSourceDefinition, OpenToolSource>();
  return {
    of(source) {
      if (!isToolSourceDefinition(source)) return source;
      const opened = open.get(source) ?? source.open({ clock });
      open.set(source, opened);
      return opened;
    },
    async close() {
      const closing = [...open.values()].map((source) => source[Symbol.asyncDispose]());
      open.clear();
      await Promise.allSettled(closing);
    },
  };
}

/** How long sources are waited for. */
export interface SettleOptions {
  readonly clock: Clock;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/**
 * Waits until every source knows what it offers, the time is over or the signal aborts. One that fails offers what it
 * did before, so its failure is not told here.
 */
export async function settleSources(sources: readonly ToolSource[], options: SettleOptions): Promise<void> {
  const { clock, waitMs, signal } = options;
  const asked = sources.filter((source) => source.settle !== undefined);
  if (asked.length === 0 || signal.aborted) return;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const settling = asked.map(async (source) => source.settle?.(either));
  try {
    await Promise.race([Promise.allSettled(settling), sleep(clock, waitMs, either)]);
  } finally {
    over.abort();
  }
}
