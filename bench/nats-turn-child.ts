import { defineAgent } from '../src/agent/define-agent.ts';
import { memoryLedger } from '../src/ledger/memory-ledger.ts';
import { natsSink } from '../src/nats/nats-sink.ts';
import { createRuntime } from '../src/runtime.ts';
import { reply } from '../src/testing/reply.ts';
import { scriptedModel } from '../src/testing/scripted-model.ts';
import { defineTool } from '../src/tools/define-tool.ts';

/** What one process measured of turns beside a bus. */
export interface BusTurnCost {
  /** CPU of the whole process for one turn, until its result is there. */
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly eventsPerTurn: number;
}

const [url = '', turns = '1'] = process.argv.slice(2);
const ledger = memoryLedger();
const add = defineTool({
  name: 'add',
  description: 'Adds.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  execute: (input) => JSON.stringify(input),
});
const model = scriptedModel({
  script: ({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').length;
    return results < 4 ? reply().call('add', { a: results, b: 1 }) : reply().text('Added.');
  },
});
const agent = defineAgent({ name: 'adder', instructions: 'Add.', model, tools: [add] });
// Without a bus there is no sink at all, and nothing is made of the events.
const sinks = url === '' ? [] : [natsSink({ connection: url })];
const runtime = createRuntime({ ledger, sinks });

const play = async () => {
  const result = await runtime.run(agent, 'Add.').result;
  if (result.status !== 'completed') throw new Error(result.status);
};
for (let turn = 0; turn < 30; turn++) await play();
globalThis.gc?.();
const first = await ledger.position();
const startedMs = performance.now();
const before = process.cpuUsage();
for (let turn = 0; turn < Number(turns); turn++) await play();
const { user, system } = process.cpuUsage(before);
const wallMs = performance.now() - startedMs;
const count = Number(turns);
const cost: BusTurnCost = {
  cpuMs: (user + system) / 1_000 / count,
  wallMs: wallMs / count,
  eventsPerTurn: ((await ledger.position()) - first) / count,
};
process.send?.(cost);
process.exit(0);
