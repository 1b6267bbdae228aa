// A graph that notes every entry of its functions: `working-graph.ts <ledger path> <log path> <session> <run|resume> <hold>`.
// A function named by `hold` never ends, so that whoever started it can kill the process there.
import { appendFileSync } from 'node:fs';
import { z } from 'zod';
import { createRuntime, defineAgent, defineGraph, sqliteLedger } from '../../src/index.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const [path = '', logPath = '', sessionId = '', how = '', hold = ''] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);

async function enter<T>(work: string, value: T): Promise<T> {
  appendFileSync(logPath, `${work}\n`);
  say(`entered ${work}`);
  // The timer keeps the process alive.
  if (work === hold) await new Promise((wake) => setTimeout(wake, 1e9));
  return value;
}

const model = scriptedModel({ script: (request) => reply().text(`said ${request.lastText}`) });
const writer = defineAgent({ name: 'writer', instructions: 'Write.', model });

const graph = defineGraph({ name: 'g', input: z.array(z.string()) })
  .map('pay', (item, { work }) => enter(work, `${item}!`), { from: 'input', maxConcurrency: 1 })
  .map('said', writer, { from: 'pay' })
  .node('look', (items, { work }) => enter(work, items.length), { from: 'pay', recovery: 'replay_safe' })
  .join('all', { from: ['said', 'look'] }, ({ said, look }, { work }) =>
    enter(work, `${said.join()} ${look}`),
  )
  .build({ output: 'all' });

const runtime = createRuntime({ ledger: sqliteLedger({ path }), agents: { g: graph } });
const run =
  how === 'run'
    ? runtime.run(graph, ['a', 'b', 'c'], { sessionId })
    : runtime.resume('g', sessionId, how === 'retry' ? { indeterminate: () => 'retry' } : {});
const result = await run.result;
say(`result ${result.status} ${result.status === 'completed' ? String(result.output) : ''}`);
await runtime.close();
