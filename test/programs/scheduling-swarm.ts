// A swarm of five works and a join, on a ledger file:
// `scheduling-swarm.ts <ledger path> <effects path> <run|resume> [<event>]`.
// It is killed at the event of its tree that has this number; every effect leaves a line in a file of its own, which
// no ledger knows.
import { appendFileSync } from 'node:fs';
import { z } from 'zod';
import { createRuntime, defineAgent, defineSwarm, defineTool, sqliteLedger } from '../../src/index.ts';
import { type ParsedRequest, reply, scriptedModel } from '../../src/testing/index.ts';

const [path = '', effects = '', how = '', deadly] = process.argv.slice(2);

const asked = ({ messages }: ParsedRequest) =>
  messages.find(({ role }) => role === 'user')?.text.split('\n')[0] ?? '';

const worker = defineAgent({
  name: 'worker',
  instructions: 'Work.',
  model: scriptedModel({
    script: (request) =>
      request.messages.some(({ role }) => role === 'tool')
        ? reply().text(`Did ${asked(request)}.`)
        : reply().call('work', { id: asked(request) }),
  }),
  tools: [
    defineTool({
      name: 'work',
      description: 'Works.',
      inputSchema: z.object({ id: z.string() }),
      execute({ id }, { operationId }) {
        appendFileSync(effects, `${id} ${operationId}\n`);
        return `worked ${id}`;
      },
    }),
  ],
});

const works = ['A', 'B', 'C', 'D', 'E'];
const item = (instruction: string, input_ids: readonly string[] = []) => ({
  target: { type: 'new_agent', id: 'worker' },
  instruction,
  input_ids: [...input_ids],
});

const lead = defineAgent({
  name: 'lead',
  instructions: 'Lead.',
  model: scriptedModel({
    script({ messages }) {
      const called = messages.some(({ calls }) => calls.some(({ name }) => name === 'update_agent_graph'));
      if (!called) {
        const join = item(
          'join',
          works.map((_, at) => `w1.1.0.${at + 1}`),
        );
        const add_work = [...works.map((one) => item(one)), join];
        return reply().call('update_agent_graph', { operation: 'add_work', add_work });
      }
      const told = messages.findLast(({ role }) => role === 'user')?.text ?? '';
      return told.includes('"completed":6')
        ? reply().text('All six are done.')
        : reply().call('yield_agent_graph', { reason: 'works run' });
    },
  }),
});

const swarm = defineSwarm({ name: 'team', supervisor: lead, agents: [worker], mode: 'swarm' });
await using runtime = createRuntime({ ledger: sqliteLedger({ path }), agents: { team: swarm } });
const run =
  how === 'resume'
    ? // An effect that may have happened is not repeated.
      runtime.resume('team', 'kept', { indeterminate: () => 'abandon' })
    : runtime.run(swarm, 'Go.', { sessionId: 'kept' });
let count = 0;
for await (const _ of run.events({ tree: true })) {
  count += 1;
  if (count === Number(deadly)) process.kill(process.pid, 'SIGKILL');
}
const result = await run.result;
process.stdout.write(
  `result ${result.status} ${result.status === 'completed' ? result.text : JSON.stringify(result)}\n`,
);
