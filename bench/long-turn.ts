import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { createRuntime, defineAgent, defineTool, openaiCompatible, sqliteLedger } from '../src/index.ts';
import { spawnScriptedServer } from '../src/testing/spawn-scripted-server.ts';
import { STEPS } from './long-turn-script.ts';
import { median, rounded } from './statistics.ts';

const WINDOW_TOKENS = 64_000;
const RESULT_CHARS = 20 * 1024;
/** Parts of the turn that are compared: the first warms up, the last must cost what the second did. */
const PARTS = 4;
const PART = STEPS / PARTS;

/** The last part may cost this much of the second: what grows with the turn would show as two or more. */
const MAX_GROWTH = 1.5;
/** The store keeps its newest records parsed, some 4 MiB of them, and the turn is still filling that. */
const MAX_HEAP_GROWTH_MB = 4;

interface Mark {
  readonly atMs: number;
  readonly storedBytes: number;
  readonly heapMb: number;
}

function storedIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function mark(folder: string, step: number): Mark {
  const isBorder = step % PART === 0;
  if (isBorder) globalThis.gc?.();
  return {
    atMs: performance.now(),
    storedBytes: isBorder ? storedIn(folder) : 0,
    heapMb: isBorder ? process.memoryUsage().heapUsed / 2 ** 20 : 0,
  };
}

async function measure(folder: string) {
  const marks: Mark[] = [];
  await using server = await spawnScriptedServer(new URL('long-turn-script.ts', import.meta.url));
  const readPage = defineTool({
    name: 'read_page',
    description: 'Reads a page.',
    inputSchema: z.object({ page: z.int() }),
    execute({ page }) {
      marks.push(mark(folder, page - 1));
      // A slice would keep the longer text it was cut from alive, and that would be measured.
      return Buffer.alloc(RESULT_CHARS, `${page} `).toString('latin1');
    },
  });
  const agent = defineAgent({
    name: 'reader',
    instructions: 'Read all pages.',
    model: openaiCompatible({ baseURL: server.baseURL, model: 'm', contextWindow: WINDOW_TOKENS }),
    tools: [readPage],
    limits: { steps: STEPS + 1 },
  });
  let folds = 0;
  await using runtime = createRuntime({ ledger: sqliteLedger({ path: join(folder, 'ledger.db') }) });
  const run = runtime.run(agent, 'Read.');
  const reading = (async () => {
    for await (const event of run.events()) if (event.type === 'compaction.committed') folds += 1;
  })();
  const result = await run.result;
  await reading;
  if (result.status !== 'completed') throw new Error(JSON.stringify(result));
  marks.push(mark(folder, STEPS));
  const largest = Math.max(...(await server.requests()).map(({ body }) => JSON.stringify(body).length));
  return { marks, folds, largestTokens: largest / 4 };
}

function stepMs(marks: readonly Mark[], part: number): number {
  const of = marks.slice(part * PART, (part + 1) * PART + 1);
  return median(of.slice(1).map(({ atMs }, index) => atMs - (of[index]?.atMs ?? Number.NaN)));
}

function stepBytes(marks: readonly Mark[], part: number): number {
  const before = marks[part * PART]?.storedBytes ?? Number.NaN;
  return ((marks[(part + 1) * PART]?.storedBytes ?? Number.NaN) - before) / PART;
}

function gatesOf(marks: readonly Mark[], largestTokens: number) {
  const last = PARTS - 1;
  const time = stepMs(marks, last) / stepMs(marks, 1);
  const bytes = stepBytes(marks, last) / stepBytes(marks, 1);
  const heap = (marks[STEPS]?.heapMb ?? Number.NaN) - (marks[2 * PART]?.heapMb ?? Number.NaN);
  return [
    { gate: 'time a step does not grow', value: rounded(time), isMet: time <= MAX_GROWTH },
    { gate: 'bytes stored a step do not grow', value: rounded(bytes), isMet: bytes <= MAX_GROWTH },
    {
      gate: 'memory of the last half is flat, but for the records kept parsed, MiB',
      value: rounded(heap),
      isMet: heap <= MAX_HEAP_GROWTH_MB,
    },
    {
      gate: `requests are under ${WINDOW_TOKENS} tokens`,
      value: Math.ceil(largestTokens),
      isMet: largestTokens < WINDOW_TOKENS,
    },
  ];
}

/** A turn of 200 steps with results of 20 KiB: what a step costs must not grow with the steps before it. */
export async function run() {
  const folder = await mkdtemp(join(tmpdir(), 'long-turn-'));
  try {
    const { marks, folds, largestTokens } = await measure(folder);
    const rows = Array.from({ length: PARTS }, (_, part) => ({
      steps: `${part * PART + 1} to ${(part + 1) * PART}`,
      'ms a step': rounded(stepMs(marks, part)),
      'KiB stored a step': rounded(stepBytes(marks, part) / 1024),
      'heap after, MiB': rounded(marks[(part + 1) * PART]?.heapMb ?? Number.NaN),
    }));
    const gates = gatesOf(marks, largestTokens);
    return {
      rows,
      json: { steps: STEPS, resultChars: RESULT_CHARS, windowTokens: WINDOW_TOKENS, folds, rows, gates },
      failed: gates.filter(({ isMet }) => !isMet).map(({ gate, value }) => `${gate} (${value})`),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
