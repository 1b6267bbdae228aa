import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import type { MachineSet } from '../../machines/machine-kind.ts';
import { type TurnContext, type TurnEvent, type TurnInput, turnMachine } from '../../machines/turn.ts';
import { isSwarmError } from '../../src/errors.ts';
import type { Lifecycle } from '../../src/lifecycle/lifecycle.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { settlePromises } from '../../src/testing/fake-clock.ts';
import { inputs, recordingHost, startCall, startStep, startTurn } from './instances.ts';

/** What reaches the process as unhandled while a test runs. */
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);

beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note).on('uncaughtException', note);
});

afterEach(async () => {
  await settlePromises();
  process.off('unhandledRejection', note).off('uncaughtException', note);
  expect(unhandled).toEqual([]);
});

describe('a lifecycle', () => {
  it('begins in the first state of its machine and tells of it', () => {
    const { host, records } = recordingHost();
    const turn = startTurn(host);
    expect(turn).toMatchObject({ id: 's-1.1', kind: 'turn', state: 'opening', finished: false });
    expect(records).toMatchObject([
      { seq: 1, from: '(start)', to: 'opening', event: 'START', hook: 'onTurnOpening' },
    ]);
  });

  it('runs an accepted event at once', () => {
    const { host, records } = recordingHost();
    const turn = startTurn(host);
    expect(turn.send({ type: 'OPENED' })).toBe(true);
    expect(turn.state).toBe('projecting');
    expect(turn.context.stepIndex).toBe(1);
    expect(records.at(-1)).toMatchObject({ from: 'opening', to: 'projecting', hook: 'onTurnOpened' });
  });

  it('records an event its state does not accept, and changes nothing', () => {
    const { host, records } = recordingHost();
    const turn = startTurn(host);
    const before = turn.context;
    expect(turn.send({ type: 'PROJECTED' })).toBe(false);
    expect(turn.state).toBe('opening');
    expect(turn.context).toBe(before);
    expect(records.at(-1)).toMatchObject({
      event: 'PROJECTED',
      from: 'opening',
      to: 'opening',
      illegal: true,
    });
    expect(records.at(-1)?.hook).toBeUndefined();
  });

  it('takes an event that only changes a counter for accepted', () => {
    const { host, records } = recordingHost();
    const turn = startTurn(host);
    expect(turn.send({ type: 'STOP_AFTER_STEP' })).toBe(true);
    expect(records.at(-1)?.illegal).toBeUndefined();
  });

  it('settles done with the name of its final state', async () => {
    const { host, records } = recordingHost();
    const turn = startTurn(host);
    turn.send({ type: 'CANCEL' });
    turn.send({ type: 'CLOSED' });
    expect(await turn.done).toBe('cancelled');
    expect(turn.finished).toBe(true);
    expect(records.at(-1)).toMatchObject({ to: 'cancelled', final: true, hook: 'onTurnCancelled' });
  });

  it('leaves no record once it has ended, and counts what still comes', () => {
    const { host, records } = recordingHost();
    const step = startStep(host);
    step.send({ type: 'ABORT' });
    const count = records.length;
    expect(step.send({ type: 'CAPTURED' })).toBe(false);
    expect(step.state).toBe('aborted');
    expect(records).toHaveLength(count);
    expect(host.lateEvents).toBe(1);
  });

  it('cannot share its id with another that is alive', () => {
    const { host } = recordingHost();
    const turn = startTurn(host);
    expect(() => startTurn(host)).toThrow(expect.objectContaining({ code: 'duplicate-instance' }));
    turn.send({ type: 'CANCEL' });
    turn.send({ type: 'CLOSED' });
    expect(startTurn(host).state).toBe('opening');
  });

  it('is brought forward by replayed events, silently, and then lives on', () => {
    const { host, records } = recordingHost();
    const turn = host.start('turn', {
      id: 's-1.1',
      rootId: 's-1',
      session: 's-1',
      input: inputs.turn,
      replay: [{ type: 'OPENED' }, { type: 'PROJECTED' }],
    });
    expect(turn.state).toBe('stepping');
    expect(records.map((record) => [record.event, record.replayed, record.hook])).toEqual([
      ['START', true, undefined],
      ['OPENED', true, undefined],
      ['PROJECTED', true, undefined],
    ]);
    turn.send({ type: 'RESUMED' });
    expect(records.at(-1)).toMatchObject({ event: 'RESUMED', to: 'projecting', hook: 'onTurnResumed' });
    expect(records.at(-1)?.replayed).toBeUndefined();
  });

  it('may end by replayed events alone', async () => {
    const { host } = recordingHost();
    const turn = host.start('turn', {
      id: 's-1.1',
      rootId: 's-1',
      session: 's-1',
      input: inputs.turn,
      replay: [{ type: 'INTERRUPT' }, { type: 'CLOSED' }],
    });
    expect(await turn.done).toBe('interrupted');
    expect(host.registry.size).toBe(0);
  });
});

describe('a machine provided by the user', () => {
  const patient = turnMachine.provide({ guards: { mayTakeAnotherStep: () => true } });
  const broken = turnMachine.provide({
    guards: {
      mayTakeAnotherStep: () => {
        throw new RangeError('no');
      },
    },
  });

  function decide(turn: Lifecycle<'turn'>): void {
    turn.send({ type: 'OPENED' });
    turn.send({ type: 'PROJECTED' });
    turn.send({ type: 'STEP_COMPLETED', stepId: 's-1.1.1', calls: 0 });
  }

  it('runs with its guards', () => {
    const { host } = recordingHost({ machines: { turn: patient } });
    const turn = startTurn(host, 's-1.1', 1);
    decide(turn);
    turn.send({ type: 'CONTINUE' });
    expect(turn.state).toBe('projecting');
  });

  it('is not what other hosts run', () => {
    recordingHost({ machines: { turn: patient } });
    const { host } = recordingHost();
    const turn = startTurn(host, 's-1.1', 1);
    decide(turn);
    turn.send({ type: 'CONTINUE' });
    expect(turn.state).toBe('closing');
  });

  it('faults where a guard throws: told once, nothing else is touched', async () => {
    const { host, records, faults } = recordingHost({ machines: { turn: broken } });
    const other = startTurn(host, 's-1.2');
    const turn = startTurn(host);
    decide(turn);
    expect(turn.send({ type: 'CONTINUE' })).toBe(false);
    expect(await turn.done).toBe('faulted');
    expect(turn).toMatchObject({ state: 'deciding', finished: true });
    expect(records.at(-1)).toMatchObject({ event: 'CONTINUE', to: 'deciding', fault: true, final: true });
    expect(records.at(-1)?.hook).toBeUndefined();
    expect(faults).toMatchObject([{ source: 'machine', kind: 'turn', id: 's-1.1', event: 'CONTINUE' }]);
    expect(isSwarmError(faults[0]?.error, 'machine-fault')).toBe(true);
    expect(faults[0]?.error.cause).toMatchObject({ message: expect.stringContaining('no') });
    expect(host.registry.has('s-1.1')).toBe(false);
    expect(other.send({ type: 'OPENED' })).toBe(true);
  });

  it('faults in a replay as it does live', async () => {
    const { host, records } = recordingHost({ machines: { turn: broken } });
    const turn = host.start('turn', {
      id: 's-1.1',
      rootId: 's-1',
      session: 's-1',
      input: inputs.turn,
      replay: [
        { type: 'OPENED' },
        { type: 'PROJECTED' },
        { type: 'STEP_COMPLETED', stepId: 's-1.1.1', calls: 0 },
        { type: 'CONTINUE' },
      ],
    });
    expect(await turn.done).toBe('faulted');
    expect(records.at(-1)).toMatchObject({ fault: true, replayed: true });
  });

  it('survives a fault handler that throws itself', async () => {
    const { host } = recordingHost({
      machines: { turn: broken },
      onFault: () => {
        throw new RangeError('again');
      },
    });
    const turn = startTurn(host);
    decide(turn);
    turn.send({ type: 'CONTINUE' });
    expect(await turn.done).toBe('faulted');
  });

  const foreign = setup({
    types: { context: {} as TurnContext, input: {} as TurnInput, events: {} as TurnEvent },
  }).createMachine({ id: 'turn', context: {} as TurnContext, initial: 'opening', states: { opening: {} } });

  const endless = setup({
    types: { context: {} as TurnContext, input: {} as TurnInput, events: {} as TurnEvent },
  }).createMachine({
    id: 'turn',
    context: {} as TurnContext,
    initial: 'opening',
    states: Object.fromEntries(Object.keys(turnMachine.states).map((name) => [name, {}])),
  });

  it.each([
    ['has other states', { turn: foreign }],
    ['does not end where ours does', { turn: endless }],
    ['is of another kind', { turn: recordingHost }],
    ['is no machine', { turn: { id: 'turn' } }],
    ['is null', { turn: null }],
    ['stands under an unknown name', { swarm: turnMachine }],
  ])('is refused where it %s', (_, machines) => {
    const given = machines as unknown as Partial<MachineSet>;
    expect(() => recordingHost({ machines: given })).toThrow(
      expect.objectContaining({ code: 'invalid-machine' }),
    );
  });
});

describe('the observer of records', () => {
  it('may throw without being felt', () => {
    const { host, faults } = recordingHost({
      observe: () => {
        throw new RangeError('full');
      },
    });
    const turn = startTurn(host);
    expect(turn.send({ type: 'OPENED' })).toBe(true);
    expect(faults).toMatchObject([
      { source: 'observer', event: 'START' },
      { source: 'observer', event: 'OPENED' },
    ]);
  });

  it('sees records in the order they happened, also where it sends an event itself', () => {
    const seen: TransitionRecord[] = [];
    const turns: Lifecycle<'turn'>[] = [];
    const { host } = recordingHost({
      observe: (record) => {
        if (record.event === 'OPENED') turns[0]?.send({ type: 'PROJECTED' });
        seen.push(record);
      },
    });
    turns.push(startTurn(host));
    turns[0]?.send({ type: 'OPENED' });
    expect(turns[0]?.state).toBe('stepping');
    expect(seen.map((record) => record.event)).toEqual(['START', 'OPENED', 'PROJECTED']);
    expect(seen.map((record) => record.seq)).toEqual([1, 2, 3]);
  });
});

describe('the registry', () => {
  it('holds what is alive, by parent', () => {
    const { host } = recordingHost();
    const turn = startTurn(host);
    const step = startStep(host);
    startCall(host, 's-1.1.1.0');
    startCall(host, 's-1.1.1.1');
    expect(host.registry.childrenOf(turn.id)).toEqual([step.id, 's-1.1.1.0', 's-1.1.1.1']);
    step.send({ type: 'ABORT' });
    expect(host.registry.childrenOf(turn.id)).toEqual(['s-1.1.1.0', 's-1.1.1.1']);
    expect(host.registry.get(step.id)).toBeUndefined();
    expect(host.registry.size).toBe(3);
  });

  it('shows live instances as plain data, parents before children', () => {
    const { host } = recordingHost();
    startTurn(host).send({ type: 'OPENED' });
    startCall(host);
    const shown = host.registry.snapshot();
    expect(JSON.parse(JSON.stringify(shown))).toEqual(shown);
    expect(shown).toMatchObject([
      { kind: 'turn', id: 's-1.1', state: 'projecting', meta: { stepIndex: 1 } },
      { kind: 'tool-call', id: 's-1.1.1.0', parentId: 's-1.1', state: 'received', turn: 's-1.1' },
    ]);
  });

  it('forgets the children of a parent with it', () => {
    const { host } = recordingHost();
    const turn = startTurn(host);
    const call = startCall(host);
    turn.send({ type: 'CANCEL' });
    turn.send({ type: 'CLOSED' });
    startTurn(host);
    expect(host.registry.childrenOf(turn.id)).toEqual([]);
    call.send({ type: 'ABORT' });
    expect(host.registry.size).toBe(1);
  });

  it('counts on the last record of a parent the children that outlived it', () => {
    const { host, records } = recordingHost();
    const turn = startTurn(host);
    startCall(host);
    turn.send({ type: 'CANCEL' });
    turn.send({ type: 'CLOSED' });
    expect(records.at(-1)).toMatchObject({ final: true, meta: { liveChildren: 1 } });
  });

  it('is empty after stopAll, which drops children before parents', async () => {
    const { host } = recordingHost();
    const ended: string[] = [];
    const turn = startTurn(host);
    const call = startCall(host);
    for (const one of [turn, call]) void one.done.then((end) => ended.push(`${one.kind} ${end}`));
    host.stopAll();
    await settlePromises();
    expect(ended).toEqual(['tool-call dropped', 'turn dropped']);
    expect(host.registry.size).toBe(0);
    expect(turn.send({ type: 'OPENED' })).toBe(false);
  });
});
