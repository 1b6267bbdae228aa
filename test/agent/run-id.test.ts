import { expect, test } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const agent = defineAgent({
  name: 'clerk',
  instructions: 'Answer.',
  model: scriptedModel({ script: [reply().text('Yes.')] }),
});

test('a run that is given an id has it in its facts and its events', async () => {
  await using runtime = createRuntime();
  const run = runtime.run(agent, 'Go.', { runId: 'r-mine' });
  expect(run.id).toBe('r-mine');
  const runs = new Set<string | undefined>();
  for await (const event of run.events()) runs.add(event.run);
  expect(runs).toContain('r-mine');
  const records = await runtime.sessions.read(run.sessionId);
  const opened = records.flatMap((record) => (record.type === 'turn.opened' ? [record.data.run] : []));
  expect(opened).toEqual(['r-mine']);
});

test('an id of a run that is none is refused', async () => {
  await using runtime = createRuntime();
  expect(() => runtime.run(agent, 'Go.', { runId: 'a b' })).toThrow(
    expect.objectContaining({ code: 'invalid-input' }),
  );
});
