import { beforeAll, describe, expect, it } from 'vitest';
import type { RecoveryMode } from '../../src/ledger/records.ts';
import type { IndeterminateDecision } from '../../src/tools/reconcile-call.ts';
import {
  createPool,
  type KillOrder,
  type KillPlace,
  killAt,
  newDirectory,
  ordersIn,
} from './fixtures/kill-process.ts';
import type { KilledRunPlan } from './fixtures/killed-run.ts';
import { linesOf } from './fixtures/outside-log.ts';
import {
  checkEnd,
  copyOf,
  finishTurn,
  reportOn,
  startSuccessor,
  staysBlocked,
} from './fixtures/recover-killed.ts';

interface Kill {
  readonly title: string;
  readonly plan: KilledRunPlan;
  readonly place: KillPlace;
}

const DECISIONS = [
  'retry',
  'abandon',
  { settle: 'settled by hand' },
] as const satisfies readonly IndeterminateDecision[];

function plan(manner: KilledRunPlan['manner'] = 'decides', recovery: RecoveryMode = 'never_auto_retry') {
  return { manner, recovery };
}

const machine = (kind: 'turn' | 'step', states: readonly string[], manner?: KilledRunPlan['manner']) =>
  states.map((state): Kill => ({ title: `${kind} ${state}`, plan: plan(manner), place: { kind, state } }));

const call = (ordinal: number, states: readonly string[], recovery?: RecoveryMode) =>
  states.map(
    (state): Kill => ({
      title: `tool call ${state}${recovery === undefined ? '' : ` (${recovery})`}`,
      plan: plan('decides', recovery),
      place: { kind: 'tool-call', state, ordinal },
    }),
  );

const tool = (whens: readonly ('entered' | 'done')[], recovery?: RecoveryMode) =>
  whens.map(
    (when): Kill => ({
      title: `tool ${when}${recovery === undefined ? '' : ` (${recovery})`}`,
      plan: plan('decides', recovery),
      place: { kind: 'tool', toolName: 'work', when },
    }),
  );

/** Where no call of the killed process can have been entered, or each has its outcome, or both. */
const PLACES: readonly Kill[] = [
  ...machine('turn', ['opening', 'projecting', 'stepping', 'retryBackoff', 'settling']),
  ...machine('turn', ['waitingForApproval', 'deciding', 'completed']),
  ...machine('turn', ['paused'], 'pauses'),
  ...machine('turn', ['closing', 'cancelled'], 'cancels-calls'),
  ...machine('step', ['capturing', 'dispatching', 'streaming', 'settlingOutcome', 'backingOff', 'completed']),
  ...machine('step', ['aborted'], 'cancels-answer'),
  ...call(0, ['received', 'repaired', 'admitted', 'preparing', 'settled']),
  ...call(1, ['awaitingPermission']),
  ...call(2, ['failed']),
];

/** Between the intent of a call and its outcome. */
const LOST: readonly Kill[] = [
  ...call(0, ['prepared', 'executing', 'committing']),
  ...call(2, ['aborting']),
  ...tool(['entered', 'done']),
  ...tool(['entered'], 'replay_safe'),
];

const ASKED: readonly Kill[] = [
  ...call(0, ['prepared'], 'reconcile'),
  ...tool(['entered', 'done'], 'reconcile'),
];

const killed = new Map<Kill, Promise<KillOrder>>();

// All die in the background, two at a time, while the first are already being looked at.
beforeAll(() => {
  const inPool = createPool(2);
  for (const kill of [...PLACES, ...LOST, ...ASKED]) {
    const dying = inPool(async () => {
      const order = ordersIn(await newDirectory(), kill.plan, kill.place);
      await killAt(order);
      return order;
    });
    dying.catch(() => undefined);
    killed.set(kill, dying);
  }
});

async function orderOf(kill: Kill): Promise<KillOrder> {
  const order = await killed.get(kill);
  if (order === undefined) throw new Error(`nobody killed ${kill.title}`);
  return order;
}

const titled = (kills: readonly Kill[]) => kills.map((kill) => [kill.title, kill] as const);

describe('a process that is killed', () => {
  it.each(titled(PLACES))('at %s leaves a turn that goes on in another', async (_, kill) => {
    const successor = await startSuccessor(await orderOf(kill));
    const report = await reportOn(successor);
    if (report === undefined) {
      // Nothing was durable, or all of it.
      const last = (await successor.facts()).at(-1)?.type;
      expect(last === undefined || last === 'turn.closed' || last === 'effect.done').toBe(true);
      return;
    }
    if (report.indeterminate.length > 0) await staysBlocked(successor);
    const result = await finishTurn(successor, 'abandon');
    const cancels = kill.plan.manner === 'cancels-answer';
    expect(result).toMatchObject(cancels ? { status: 'cancelled' } : { status: 'completed', text: 'Done.' });
    await checkEnd(successor, kill.plan);
  });

  it.each(titled(LOST))('MA-09 at %s never runs the call again on its own', async (_, kill) => {
    const order = await orderOf(kill);
    for (const decision of DECISIONS) {
      const successor = await startSuccessor(await copyOf(order));
      const report = await reportOn(successor);
      expect(report?.indeterminate.length).toBeGreaterThan(0);
      const lost = new Set(report?.indeterminate.map(({ operationId }) => operationId));
      const entered = () =>
        linesOf(successor.log, 'entered').filter(({ operationId }) => lost.has(operationId)).length;
      await staysBlocked(successor);
      const before = entered();
      const result = await finishTurn(successor, decision);
      expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
      expect(entered()).toBe(decision === 'retry' ? before + lost.size : before);
      await checkEnd(successor, kill.plan);
    }
  });
});
