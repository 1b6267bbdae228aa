import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { stepMachine } from '../../machines/step.ts';
import { turnMachine } from '../../machines/turn.ts';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { stately } from '../../src/inspect/stately.ts';
import type { Inspector } from '../../src/lifecycle/inspector.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { createRuntime } from '../../src/runtime.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { isStopped, startRelay } from '../support/stately-relay.ts';

const note = defineTool({
  name: 'note',
  description: 'Notes.',
  inputSchema: z.object({ text: z.string() }),
  execute: () => 'noted',
});

/** Goes on only while the step it took was not the second one. */
const shortTurn = turnMachine.provide({
  guards: { mayTakeAnotherStep: ({ context }) => context.stepIndex < 2 },
});

const impatientStep = stepMachine.provide({ guards: { mayRetry: () => false } });

function noting(times: number) {
  const calls = Array.from({ length: times }, () => reply().call('note', { text: 'a' }));
  const model = scriptedModel({ script: [...calls, reply().text('done')] });
  return { model, agent: defineAgent({ name: 'clerk', instructions: 'Work.', model, tools: [note] }) };
}

describe('machines a user made by provide', () => {
  it('IN-13 decide how a run goes: a turn ends where its guard says', async () => {
    const { model, agent } = noting(5);
    await using runtime = createRuntime({ machines: { turn: shortTurn } });
    const result = await runtime.run(agent, 'go').result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'step-limit' }, steps: 2 });
    expect(model.requests).toHaveLength(2);
  });

  it('IN-13 decide how a run goes: a step is not tried again', async () => {
    const model = scriptedModel({ script: [failure({ kind: 'overloaded' }), reply().text('done')] });
    const agent = defineAgent({ name: 'clerk', instructions: 'Work.', model });
    await using runtime = createRuntime({ machines: { step: impatientStep } });
    const result = await runtime.run(agent, 'go').result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'overloaded' } });
    expect(model.requests).toHaveLength(1);
  });

  it('IN-13 are what an inspector is given and shows', async () => {
    const records: TransitionRecord[] = [];
    let given: Parameters<NonNullable<Inspector['attach']>>[1] | undefined;
    await using runtime = createRuntime({
      machines: { turn: shortTurn },
      inspect: {
        attach(_live, machines) {
          given = machines;
        },
        observe: (record) => records.push(record),
      },
    });
    await runtime.run(noting(5).agent, 'go').result;
    expect(given?.turn).toBe(shortTurn);
    expect(given?.step).toBe(stepMachine);
    expect(records.filter(({ event }) => event === 'CONTINUE').map(({ to }) => to)).toEqual([
      'projecting',
      'closing',
    ]);
  });

  it('IN-13 are what the Stately inspector shows', async () => {
    const relay = await startRelay();
    await using runtime = createRuntime({
      machines: { turn: shortTurn },
      inspect: stately({ url: relay.url }),
    });
    const run = runtime.run(noting(5).agent, 'go');
    await run.result;
    const messages = await relay.until((all) => isStopped(all, run.sessionId));
    const continued = messages.filter(
      ({ type, event }) => type === '@xstate.snapshot' && event?.type === 'CONTINUE',
    );
    expect(continued.map(({ snapshot }) => snapshot?.value)).toEqual(['projecting', 'closing']);
    const turn = messages.find(({ sessionId }) => sessionId === `${run.sessionId}.1`);
    expect(JSON.parse(turn?.definition ?? '{}').states.deciding.on.CONTINUE[0].guard).toBe(
      'mayTakeAnotherStep',
    );
  });

  it.each([
    ['a machine of another kind', { turn: stepMachine }],
    ['a kind there is none of', { session: turnMachine }],
    ['something else', { turn: {} }],
  ])('refuse %s', (_, machines) => {
    expect(() => createRuntime({ machines: machines as object })).toThrow(
      expect.objectContaining({ code: 'invalid-machine' }),
    );
  });
});
