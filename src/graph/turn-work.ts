import { abandonTree } from '../agent/abandon-tree.ts';
import { hasChildNews } from '../agent/child-standing.ts';
import { definitionHash } from '../agent/definition-hash.ts';
import { findSleepers, type SleeperMemory } from '../agent/find-sleepers.ts';
import { placedParent } from '../agent/placed-work.ts';
import { type Recorded, RecordedRun } from '../agent/recorded-job.ts';
import type { Run } from '../agent/run.ts';
import type { RunResult } from '../agent/run-result.ts';
import type { AnyDefinition, RuntimeCore } from '../agent/runtime-core.ts';
import { passOn, takeUpPlaced } from '../agent/take-up-placed.ts';
import { type SessionWord, tellSession } from '../agent/tell-session.ts';
import { failureOf } from '../agent/thrown-failure.ts';
import type { QueuedRun, QueuedWake } from '../agent/work-pool.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Failure } from '../ledger/records.ts';
import { foldSession } from '../ledger/turn-facts.ts';
import type { DiscoveryOptions } from '../tools/discovery-policy.ts';
import type { BudgetOptions } from '../turn/run-budget.ts';
import { type AnyTarget, resumeTarget, speaker, startTarget, type TargetSettings } from './start-target.ts';

/** What a worker does with a runtime: runs what others gave to a pool, here, and tells in the ledger what became of it. */
export interface TurnWork {
  readonly ledger: Promise<Ledger>;
  /** Pool of which it wakes what sleeps; undefined where the runtime has none, and can wake nobody. */
  readonly pool: string | undefined;
  /** Hash of the definition of a name in the registry. */
  definition(name: string): string | undefined;
  /** Runs it in this process. Never rejects. */
  run(queued: QueuedRun): Promise<Recorded>;
  /** Takes up what is open in a session, for the run that opened it. Never rejects. */
  takeUp(wake: QueuedWake, discovery?: JsonObject): Promise<Recorded>;
  /** Tells what became of a run that is not to begin, or that nobody told of. Never rejects. */
  tell(run: RunName, result: RunResult<unknown>): Promise<Recorded>;
  /** Closes what is open of a session and below it, and tells nobody. @throws SwarmError as `runtime.abandon` */
  abandon(session: string, reason: string): Promise<void>;
  /** Tells the turn of a session something, wherever it is, also where it sleeps. @throws SwarmError as `sessions.steer` */
  say(word: SessionWord): Promise<void>;
  /** Whether a session that waits for children has something to do. @throws SwarmError of the ledger */
  hasChildNews(session: string): Promise<boolean>;
  /** Wakes what sleeps and has something to do: see {@link findSleepers}. @throws SwarmError of ledger and pool */
  wakeSleepers(): Promise<number>;
  /** Has whoever asked for a child learn of it, also where that was done before. @throws SwarmError of ledger and pool */
  passOn(session: string): Promise<void>;
}

/** How a run that a worker was given is named. */
export type RunName = Pick<QueuedRun, 'run' | 'session' | 'target'>;

const NOTHING = { usage: { total: {}, byAgent: {}, reported: {} }, steps: 0, toolCalls: 0, text: '' };

/** The result of a run that never began. */
export function failedRun(error: Failure): RunResult<unknown> {
  return { status: 'failed', error, ...NOTHING };
}

/** The result of a run that was stopped before it began. */
export function cancelledRun(reason: string): RunResult<unknown> {
  return { status: 'cancelled', reason, ...NOTHING };
}

const works = new WeakMap<object, TurnWork>();

/** The side of a runtime that workers use. */
export function workOf(runtime: object): TurnWork | undefined {
  return works.get(runtime);
}

/** Makes the side of a runtime that workers use. */
export function keepWork(runtime: object, core: RuntimeCore): void {
  const sleepers: SleeperMemory = new Map();
  works.set(runtime, {
    ledger: core.ledger,
    pool: core.pool?.name,
    definition(name) {
      const known = core.definitions.get(name);
      return known === undefined ? undefined : definitionHash(known);
    },
    run: (queued) => runHere(core, queued),
    takeUp: (wake, discovery) => takeUpHere(core, wake, discovery),
    tell: (queued, result) => tellHere(core, queued, result),
    abandon: (session, reason) => abandonTree(core, session, reason),
    say: (word) => tellSession(core, word),
    hasChildNews: async (session) => hasChildNews(await core.ledger, session),
    wakeSleepers: () => wakeSleepers(core, sleepers),
    passOn: (session) => passOn(core, session),
  });
}

async function wakeSleepers(core: RuntimeCore, memory: SleeperMemory): Promise<number> {
  const { pool } = core;
  if (pool === undefined) return 0;
  const wakes = await findSleepers(await core.ledger, pool.name, core.clock.now(), memory);
  try {
    for (const wake of wakes) await pool.wake(wake);
  } catch (error) {
    // Those that were not told are found anew.
    memory.clear();
    throw error;
  }
  return wakes.length;
}

function runHere(core: RuntimeCore, queued: QueuedRun): Promise<Recorded> {
  const { run: runId, session: sessionId, isNew, target, budget, boundTools, discovery } = queued;
  const definition = core.definitions.get(target);
  return recordedRun(
    core,
    { run: runId, session: sessionId, isNew, definition, begins: true },
    (recorded) => {
      const settings: TargetSettings = {
        runId,
        sessionId,
        recorded,
        // A turn that waits for a person leaves its place to others.
        onApproval: 'pause',
        ...(budget === undefined ? {} : { budget: budget as BudgetOptions }),
        ...(boundTools === undefined ? {} : { boundTools }),
        ...(discovery === undefined ? {} : { discovery: discovery as DiscoveryOptions }),
      };
      return startTarget(core, definition as AnyTarget, queued.input, settings);
    },
  );
}

async function takeUpHere(
  core: RuntimeCore,
  wake: QueuedWake,
  discovery: JsonObject | undefined,
): Promise<Recorded> {
  const { session: sessionId, by, decisions = {}, stop } = wake;
  // In another place of this process: as good as elsewhere, and nothing waits behind it.
  if (core.registry.find(sessionId)?.isBusy === true)
    return { type: 'open', kind: 'session-owned-elsewhere' };
  try {
    const ledger = await core.ledger;
    const records = await ledger.read(sessionId);
    const parent = records.length === 0 ? wake.parent : await placedParent(ledger, records);
    if (parent !== undefined) return await takeUpPlaced(core, wake, parent);
    const first = foldSession(records).turns.at(-1);
    const run = first?.opened.data.run ?? by ?? sessionId;
    const definition = core.definitions.get(records[0]?.agent ?? '');
    if (definition === undefined) return { type: 'open', kind: 'unknown-agent' };
    return await recordedRun(core, { run, by, session: sessionId, definition }, (recorded) => {
      const taken = resumeTarget(core, definition as AnyTarget, sessionId, {
        runId: by ?? run,
        recorded,
        onApproval: 'pause',
        indeterminate: ({ callId }) => decisions[callId] ?? 'block',
        ...(discovery === undefined ? {} : { discovery: discovery as DiscoveryOptions }),
      });
      if (stop !== undefined) taken.cancel(stop.reason);
      return taken;
    });
  } catch (error) {
    return { type: 'open', kind: failureOf(error).kind };
  }
}

async function tellHere(
  core: RuntimeCore,
  { run, session, target: name }: RunName,
  result: RunResult<unknown>,
): Promise<Recorded> {
  const definition = core.definitions.get(name);
  const [first] = await (await core.ledger).read(session);
  const parent = first?.parent === undefined ? {} : { parent: { session: first.parent, root: first.root } };
  return recordedRun(core, { run, session, name, definition, ...parent }, () => ({
    result: Promise.resolve(result),
  }));
}

interface Ticket {
  readonly run: string;
  readonly by?: string | undefined;
  readonly session: string;
  /** Where the name is in no registry. */
  readonly name?: string;
  readonly begins?: true;
  readonly isNew?: boolean | undefined;
  readonly parent?: { readonly session: string; readonly root: string };
  readonly definition: AnyDefinition | undefined;
}

async function recordedRun(
  core: RuntimeCore,
  { definition, ...ids }: Ticket,
  start: (recorded: RecordedRun) => Pick<Run<unknown>, 'result'>,
): Promise<Recorded> {
  const name = ids.name ?? definition?.name ?? '';
  const agent = definition === undefined ? undefined : speaker(definition as AnyTarget);
  const recorded = new RecordedRun({ ...ids, name, agent });
  try {
    const result = await startedResult(start, recorded);
    void recorded.ended(result, core.registry.parts(await core.ledger));
    return await recorded.recorded;
  } catch (error) {
    return { type: 'open', kind: failureOf(error).kind };
  }
}

/** What is wrong with how a run was given is its result: nobody here can mend it. */
async function startedResult(
  start: (recorded: RecordedRun) => Pick<Run<unknown>, 'result'>,
  recorded: RecordedRun,
): Promise<RunResult<unknown>> {
  try {
    return await start(recorded).result;
  } catch (error) {
    return failedRun(failureOf(error));
  }
}
