import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { SwarmError } from '../src/errors.ts';
import type { LedgerWriter } from '../src/ledger/ledger.ts';
import { recordCodec } from '../src/ledger/record-codec.ts';
import { GENESIS_HASH, type NewRecord } from '../src/ledger/records.ts';
import { sqliteLedger } from '../src/ledger/sqlite-ledger.ts';
import { median, rounded } from './statistics.ts';

/** Each figure is the median of so many repeats; the stores take turns, so that a slow minute hits both. */
const REPEATS = 5;
const CASES = [
  { sessions: 1, records: 2_400 },
  { sessions: 100, records: 30_000 },
] as const;
/** Of the rate at 100 sessions of a file that holds the same: what fencing, order and a reader's index may cost. */
const LEAST_SHARE = 0.4;
const MOST_LOOP_DELAY_MS = 10;
const DELAY_RESOLUTION_MS = 1;

interface Figures {
  readonly recordsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How late the main loop was, 99th percentile. */
  readonly loopP99Ms: number;
  /** Processor time of the whole process. */
  readonly cpuUsPerRecord: number;
}

/** One session's way to append: resolves when the record is durable. */
type Append = (record: NewRecord) => Promise<void>;

interface Store {
  readonly name: string;
  open(
    path: string,
    sessions: number,
  ): Promise<{ readonly appends: readonly Append[]; close(): Promise<void> }>;
}

const TEXT = 'A line of a result as tools return them. '.repeat(8);
const HASH = 'a'.repeat(64);

/** The records of one step with one call: 500 bytes each on average, once they are stored. */
function recordsOfStep(session: string, index: number): readonly NewRecord[] {
  const turn = `${session}.1`;
  const step = `${turn}.${index}`;
  const call = `${step}.0`;
  const operationId = `op-${session}-${String(index).padStart(28, '0')}`;
  const tool = { operationId, toolName: 'search_documents' };
  return [
    {
      type: 'step.opened',
      turn,
      step,
      data: { index, visible: ['search_documents', 'read'], toolsHash: HASH, schemaChars: 900, active: [] },
    },
    {
      type: 'assistant.message',
      turn,
      step,
      data: { content: [{ type: 'text', text: TEXT }], attempt: 1, provider: 'bench', model: 'bench' },
    },
    {
      type: 'tool.called',
      turn,
      step,
      call,
      data: {
        ordinal: 0,
        wireId: 'call_0',
        toolName: tool.toolName,
        args: { query: 'the price of copper', limit: 20, filters: { from: 2020, to: 2025 } },
        argsHash: HASH,
      },
    },
    {
      type: 'tool.dispatched',
      turn,
      step,
      call,
      data: { ...tool, recovery: 'never_auto_retry', argsHash: HASH, generation: 0 },
    },
    {
      type: 'tool.settled',
      turn,
      step,
      call,
      data: { ...tool, status: 'success', output: { type: 'text', text: TEXT }, durationMs: 12 },
    },
    {
      type: 'step.closed',
      turn,
      step,
      data: { status: 'completed', attempts: 1, calls: 1, usage: { inputTokens: 900, outputTokens: 80 } },
    },
  ];
}

const sqlite: Store = {
  name: 'sqlite FULL, hash chain',
  async open(path, sessions) {
    const ledger = await sqliteLedger({ path });
    const appends: Append[] = [];
    for (let index = 0; index < sessions; index += 1) {
      const session = `s-${index}`;
      appends.push(appendTo(await ledger.acquire({ session, root: session, agent: 'bench' })));
    }
    return { appends, close: () => ledger.close() };
  },
};

function appendTo(writer: LedgerWriter): Append {
  return async (record) => {
    const result = await writer.append(writer.head.seq, [record]);
    if (result.type !== 'committed') {
      throw new SwarmError('ledger-rejected', `an append was ${result.type}`);
    }
  };
}

/** Lines in a file, one flush for all that gathered during the last one: the least that is durable. */
function jsonlStore(name: string, lineOf: (session: string) => (record: NewRecord) => string): Store {
  return {
    name,
    async open(path, sessions) {
      const file = await open(path, 'a');
      const writer = groupWriter(file);
      const appends = Array.from({ length: sessions }, (_, index): Append => {
        const line = lineOf(`s-${index}`);
        return (record) => writer.append(line(record));
      });
      return { appends, close: () => writer.close() };
    },
  };
}

function groupWriter(file: FileHandle): { append(line: string): Promise<void>; close(): Promise<void> } {
  let waiting: { readonly line: string; done(): void }[] = [];
  let flushing: Promise<void> | undefined;
  const flush = async () => {
    await Promise.resolve();
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      await file.appendFile(group.map(({ line }) => line).join(''));
      await file.datasync();
      for (const { done } of group) done();
    }
    flushing = undefined;
  };
  return {
    append: (line) =>
      new Promise((done) => {
        waiting.push({ line, done });
        flushing ??= flush();
      }),
    close: async () => {
      await flushing;
      await file.close();
    },
  };
}

const bareLines = jsonlStore('jsonl, bare lines', (session) => {
  let seq = 0;
  return (record) => {
    seq += 1;
    return `${JSON.stringify({ session, seq, at: Date.now(), ...record })}\n`;
  };
});

/** The same contents as the ledger: checked against their schemas, canonical, chained by hash. */
const sameRecords = jsonlStore('jsonl, same records', (session) => {
  const identity = { session, root: session, agent: 'bench' };
  let head = { seq: 0, hash: GENESIS_HASH };
  return (record) => {
    const [sealed] = recordCodec.seal([record], { identity, epoch: 1, at: Date.now(), ...head });
    if (sealed === undefined) throw new SwarmError('invalid-record', 'nothing was sealed');
    head = { seq: head.seq + 1, hash: sealed.hash };
    return `${sealed.text} ${sealed.hash}\n`;
  };
});

async function measure(store: Store, { sessions, records }: (typeof CASES)[number]): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'swarmwright-bench-'));
  const opened = await store.open(join(folder, 'ledger'), sessions);
  const latencies: number[] = [];
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  const cpu = process.cpuUsage();
  const start = performance.now();
  await Promise.all(
    opened.appends.map(async (append, session) => {
      let left = records / sessions;
      for (let index = 1; left > 0; index += 1) {
        for (const record of recordsOfStep(`s-${session}`, index).slice(0, left)) {
          const begun = performance.now();
          await append(record);
          latencies.push(performance.now() - begun);
          left -= 1;
        }
      }
    }),
  );
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  delay.disable();
  await opened.close();
  await rm(folder, { recursive: true });
  latencies.sort((left, right) => left - right);
  return {
    recordsPerSecond: (latencies.length / elapsedMs) * 1_000,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    loopP99Ms: Math.max(0, delay.percentile(99) / 1e6 - DELAY_RESOLUTION_MS),
    cpuUsPerRecord: (user + system) / latencies.length,
  };
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function medians(all: readonly Figures[]): Figures {
  const of = (pick: (figures: Figures) => number, digits?: number) => rounded(median(all.map(pick)), digits);
  return {
    recordsPerSecond: of((figures) => figures.recordsPerSecond, 0),
    p50Ms: of((figures) => figures.p50Ms),
    p99Ms: of((figures) => figures.p99Ms),
    loopP99Ms: of((figures) => figures.loopP99Ms),
    cpuUsPerRecord: of((figures) => figures.cpuUsPerRecord),
  };
}

interface Row extends Figures {
  readonly store: string;
  readonly sessions: number;
}

/**
 * Durable appends of records of about 500 bytes, one at a time a session, beside files of lines in the same run.
 * `failed` names the bounds that do not hold.
 */
export async function run(): Promise<{
  readonly rows: readonly Record<string, string | number>[];
  readonly json: unknown;
  readonly failed: readonly string[];
}> {
  const rows: Row[] = [];
  for (const load of CASES) {
    const figures = new Map<Store, Figures[]>([
      [bareLines, []],
      [sameRecords, []],
      [sqlite, []],
    ]);
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      for (const [store, all] of figures) all.push(await measure(store, load));
    }
    for (const [store, all] of figures) {
      rows.push({ store: store.name, sessions: load.sessions, ...medians(all) });
    }
  }
  const shareOfSameRecords = rounded(rateAt100(rows, sqlite) / rateAt100(rows, sameRecords));
  const shareOfBareLines = rounded(rateAt100(rows, sqlite) / rateAt100(rows, bareLines));
  const loopP99Ms = rowAt100(rows, sqlite)?.loopP99Ms ?? Number.NaN;
  const failed: string[] = [];
  if (!(shareOfSameRecords >= LEAST_SHARE)) {
    failed.push(`${shareOfSameRecords} of the rate of ${sameRecords.name}, at least ${LEAST_SHARE}`);
  }
  if (!(loopP99Ms < MOST_LOOP_DELAY_MS)) {
    failed.push(`main loop ${loopP99Ms} ms late (p99), less than ${MOST_LOOP_DELAY_MS}`);
  }
  return {
    rows: rows.map((row) => ({ ...row })),
    json: { rows, shareOfSameRecords, shareOfBareLines },
    failed,
  };
}

function rowAt100(rows: readonly Row[], store: Store): Row | undefined {
  return rows.find((row) => row.store === store.name && row.sessions === 100);
}

function rateAt100(rows: readonly Row[], store: Store): number {
  return rowAt100(rows, store)?.recordsPerSecond ?? Number.NaN;
}
