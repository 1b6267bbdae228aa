import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stepMachine } from '../../machines/step.ts';
import { toolCallMachine } from '../../machines/tool-call.ts';
import { turnMachine } from '../../machines/turn.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { RecoveryMode } from '../../src/ledger/records.ts';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { ofType } from '../support/run-events.ts';
import { type KillOrder, type KillPlace, kill, startStopped } from './fixtures/kill-process.ts';
import type { KilledRunPlan } from './fixtures/killed-run.ts';
import { linesOf } from './fixtures/outside-log.ts';
import {
  checkEnd,
  copyOf,
  finishTurn,
  reportOn,
  type Successor,
  startSuccessor,
  staysBlocked,
} from './fixtures/recover-killed.ts';

type Manner = KilledRunPlan['manner'];

interface Kill {
  readonly title: string;
  readonly plan: KilledRunPlan;
  readonly place: KillPlace;
}

const machine = (kind: 'turn' | 'step', states: readonly string[], manner: Manner = 'decides') =>
  states.map(
    (state): Kill => ({
      title: `${kind} ${state}`,
      plan: { manner, recovery: 'never_auto_retry' },
      place: { kind, state },
    }),
  );

const call = (
  ordinal: number,
  states: readonly string[],
  { manner = 'decides', recovery }: Partial<KilledRunPlan> = {},
) =>
  states.map(
    (state): Kill => ({
      title: `tool call ${state}${recovery === undefined ? '' : ` (${recovery})`}`,
      plan: { manner, recovery: recovery ?? 'never_auto_retry' },
      place: { kind: 'tool-call', state, ordinal },
    }),
  );

const tool = (whens: readonly ('entered' | 'done')[], recovery: RecoveryMode = 'never_auto_retry') =>
  whens.map(
    (when): Kill => ({
      title: `tool ${when} (${recovery})`,
      plan: { manner: 'decides', recovery },
      place: { kind: 'tool', toolName: 'work', when },
    }),
  );

const PLACES: readonly Kill[] = [
  ...machine('turn', ['opening', 'projecting', 'stepping', 'retryBackoff', 'settling']),
  ...machine('turn', ['waitingForApproval', 'deciding', 'completed']),
  ...machine('turn', ['paused'], 'pauses'),
  ...machine('turn', ['closing', 'cancelled'], 'cancels-calls'),
  ...machine('turn', ['recovering', 'failed'], 'overflows'),
  ...machine('step', ['capturing', 'dispatching', 'streaming', 'settlingOutcome', 'backingOff', 'completed']),
  ...machine('step', ['aborted'], 'cancels-answer'),
  ...machine('step', ['failed'], 'overflows'),
  ...call(0, ['received', 'repaired', 'admitted', 'preparing', 'settled']),
  ...call(1, ['awaitingPermission']),
  ...call(1, ['rejected'], { manner: 'denies' }),
  ...call(1, ['cancelled'], { manner: 'cancels-calls' }),
  ...call(2, ['failed']),
];

/** Between the intent of a call and its outcome. */
const LOST: readonly Kill[] = [
  ...call(0, ['prepared', 'executing', 'committing']),
  ...call(2, ['aborting']),
  ...tool(['entered', 'done']),
  ...tool(['entered'], 'replay_safe'),
];

/** The same, of tools that can say what became of their call. */
const ASKED: readonly (Kill & { readonly answer: 'not-executed' | 'unknown' | 'completed' })[] = [
  ...call(0, ['prepared'], { recovery: 'reconcile' }).map((kill) => ({
    ...kill,
    answer: 'not-executed' as const,
  })),
  ...tool(['entered'], 'reconcile').map((kill) => ({ ...kill, answer: 'unknown' as const })),
  ...tool(['done'], 'reconcile').map((kill) => ({ ...kill, answer: 'completed' as const })),
];

/** States that no turn of one agent gets into, or none while its first process lives. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  turn: ['compacting', 'yielded', 'handedOff', 'interrupted'],
  step: [],
  'tool-call': ['suspended', 'indeterminate', 'commitError'],
};

const ALL: readonly Kill[] = [...PLACES, ...LOST, ...ASKED];
const DECISIONS = { retry: 'retry', abandon: 'abandon', settle: { settle: 'settled by hand' } } as const;

let root = '';
let order: KillOrder;
const ledgers = new Map<string, Ledger>();

/** One process with a session for each place is killed once all of them are there. */
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'swarmwright-'));
  const directory = join(root, 'killed');
  await mkdir(directory);
  const sessions = ALL.map(({ plan, place }, index) => ({
    session: `s-${index}`,
    logPath: join(directory, `outside-${index}`),
    plan,
    place,
  }));
  order = { path: join(directory, 'ledger.db'), sessions };
  await kill(await startStopped(order));
  for (const name of Object.keys(DECISIONS)) {
    const { path } = await copyOf(order, name);
    ledgers.set(name, await sqliteLedger({ path }));
  }
  ledgers.set('killed', await sqliteLedger({ path: order.path }));
}, 90_000);

afterAll(async () => {
  for (const ledger of ledgers.values()) await ledger.close();
  await rm(root, { recursive: true, force: true });
});

/** A process that takes up the session stopped there, on the files themselves or on a copy of them. */
function successorOf(place: Kill, files: 'killed' | keyof typeof DECISIONS = 'killed'): Successor {
  const stopped = order.sessions[ALL.indexOf(place)];
  const ledger = ledgers.get(files);
  if (stopped === undefined || ledger === undefined) throw new Error(`nobody stopped at ${place.title}`);
  const directory = dirname(order.path);
  const logPath =
    files === 'killed' ? stopped.logPath : stopped.logPath.replace(directory, `${directory}-${files}`);
  return startSuccessor(ledger, { ...stopped, logPath });
}

const titled = <K extends Kill>(kills: readonly K[]) => kills.map((kill) => [kill.title, kill] as const);

const ENDS: Readonly<Record<Manner, object>> = {
  decides: { status: 'completed', text: 'Done.' },
  denies: { status: 'completed', text: 'Done.' },
  pauses: { status: 'completed', text: 'Done.' },
  'cancels-calls': { status: 'completed', text: 'Done.' },
  'cancels-answer': { status: 'cancelled' },
  overflows: { status: 'failed', error: { kind: 'context-overflow' } },
};

describe('a process that is killed', () => {
  it('is killed in every state its machines have', () => {
    const places = [...PLACES, ...LOST].map(({ place }) => place);
    for (const [kind, { states }] of Object.entries({
      turn: turnMachine,
      step: stepMachine,
      'tool-call': toolCallMachine,
    })) {
      const there = places.flatMap((place) => (place.kind === kind && 'state' in place ? [place.state] : []));
      expect([...there, ...(ELSEWHERE[kind] ?? [])].sort()).toEqual(Object.keys(states).sort());
    }
  });

  it.each(titled(PLACES))('at %s leaves a turn that goes on in another', async (_, place) => {
    const successor = successorOf(place);
    const report = await reportOn(successor);
    if (report === undefined) {
      // Nothing was durable, or all of it.
      const last = (await successor.facts()).at(-1)?.type;
      expect(last === undefined || last === 'turn.closed' || last === 'effect.done').toBe(true);
      return;
    }
    expect(report).toMatchObject({ agent: 'worker', owned: false, paused: place.plan.manner === 'pauses' });
    if (report.indeterminate.length > 0) await staysBlocked(successor);
    expect(await finishTurn(successor, 'abandon')).toMatchObject(ENDS[place.plan.manner]);
    await checkEnd(successor);
  });

  it.each(titled(LOST))('MA-09 at %s never runs the call again on its own', async (_, place) => {
    for (const name of ['retry', 'abandon', 'settle'] as const) {
      const successor = successorOf(place, name);
      const decision = DECISIONS[name];
      const report = await reportOn(successor);
      const lost = new Set(report?.indeterminate.map(({ operationId }) => operationId));
      expect(lost.size).toBeGreaterThan(0);
      const entered = () =>
        linesOf(successor.log, 'entered').filter(({ operationId }) => lost.has(operationId)).length;
      await staysBlocked(successor);
      const before = entered();
      expect(await finishTurn(successor, decision)).toMatchObject({ status: 'completed', text: 'Done.' });
      expect(entered()).toBe(decision === 'retry' ? before + lost.size : before);
      await checkEnd(successor);
    }
  });

  it.each(titled(ASKED))('MA-09 at %s asks the tool what became of its call', async (_, place) => {
    const successor = successorOf(place);
    const report = await reportOn(successor);
    const work = report?.indeterminate.find(({ toolName }) => toolName === 'work')?.operationId;
    const entered = () =>
      linesOf(successor.log, 'entered').filter(({ operationId }) => operationId === work).length;
    // Nobody decides on anything; its siblings may be in doubt as well, and are asked in the same way.
    const result = await finishTurn(successor, 'block');
    if (place.answer === 'unknown')
      expect(result).toMatchObject({ status: 'paused', reason: 'indeterminate' });
    expect(entered()).toBe(1);
    if (result.status === 'paused') await finishTurn(successor, 'abandon');
    const decided = ofType(await successor.facts(), 'tool.reconciled').find(
      ({ data }) => data.operationId === work,
    );
    expect([decided?.data.decision, decided?.data.actor]).toEqual(
      {
        'not-executed': ['retry', 'tool'],
        completed: ['reconciled', 'tool'],
        unknown: ['abandon', 'resume'],
      }[place.answer],
    );
    expect(entered()).toBe(1);
    await checkEnd(successor);
  });
});
