import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { page } from '../src/inspect/page.ts';
import { memoryLedger } from '../src/ledger/memory-ledger.ts';
import { createRuntime } from '../src/runtime.ts';
import { showAndMeasure } from './page-process.ts';

/** What a burst did to the process it came in. */
export interface BurstCost {
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Until whoever looks had all of it. */
  readonly tookMs: number;
  /** Memory in use afterwards, above that before. */
  readonly heldMb: number;
}

/** Transitions of machines, or records of a ledger. */
export type BurstKind = 'moves' | 'facts';

const [count = '0'] = process.argv.slice(2);
/** Records between two turns of the event loop. */
const BATCH = 100;

const inspector = page();
const ledger = await memoryLedger();
createRuntime({ ledger, inspect: inspector });

/** Transitions, as machines make them: any number within one turn of the loop. */
async function burstOfMoves(total: number): Promise<void> {
  const way = {
    machineId: 'turn',
    kind: 'turn',
    from: 'opening',
    to: 'projecting',
    event: 'OPENED',
  } as const;
  for (let seq = 1; seq <= total; seq += 1) {
    const id = `s-${seq % 1_000}.1`;
    inspector.observe({ v: 1, seq, at: 0, id, rootId: 's', session: `s-${seq % 1_000}`, ...way, meta: {} });
    if (seq % (BATCH * 10) === 0) await setImmediate();
  }
}

async function burstOfFacts(total: number): Promise<void> {
  const writer = await ledger.acquire({ session: 's-bench', root: 's-bench', agent: 'bench' });
  for (let done = 0; done < total; done += BATCH) {
    const records = Array.from({ length: BATCH }, (_, at) => ({
      type: 'steering.accepted' as const,
      data: { id: `t${done + at}`, text: 'x'.repeat(100) },
    }));
    const result = await writer.append(writer.head.seq, records);
    if (result.type !== 'committed') throw new Error(JSON.stringify(result));
    await setImmediate();
  }
}

function usedMb(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 / 1024;
}

showAndMeasure(await inspector.url, async (kind: BurstKind, seen): Promise<BurstCost> => {
  const burst = kind === 'facts' ? burstOfFacts : burstOfMoves;
  const before = usedMb();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const startedMs = performance.now();
  delay.enable();
  await burst(Number(count));
  await seen;
  delay.disable();
  const tookMs = performance.now() - startedMs;
  return {
    p99Ms: delay.percentile(99) / 1e6,
    maxMs: delay.max / 1e6,
    tookMs,
    heldMb: usedMb() - before,
  };
});
