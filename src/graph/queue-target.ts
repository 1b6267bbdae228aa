import { type AnyAgent, isAgent } from '../agent/define-agent.ts';
import { definitionHash } from '../agent/definition-hash.ts';
import { openInTree } from '../agent/open-tree.ts';
import { assertFits } from '../agent/oversized-input.ts';
import { PooledRun, type PooledRunOptions } from '../agent/pooled-run.ts';
import { reachableAgents } from '../agent/reachable-agents.ts';
import type { Run } from '../agent/run.ts';
import { inputParts, type RunInput } from '../agent/run-input.ts';
import type { RuntimeCore } from '../agent/runtime-core.ts';
import { handleOf, idsOfRun } from '../agent/start-run.ts';
import type { QueuedRun } from '../agent/work-pool.ts';
import { SwarmError } from '../errors.ts';
import { createLiveBus } from '../events/live-bus.ts';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import { storeParts } from '../ledger/media.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { indeterminateCalls } from '../ledger/recovery.ts';
import { foldSession } from '../ledger/turn-facts.ts';
import { checkDiscovery, type DiscoveryOptions } from '../tools/discovery-policy.ts';
import { toPlainJson } from '../tools/plain-json.ts';
import type { IndeterminateDecision } from '../tools/reconcile-call.ts';
import { createRunBudget } from '../turn/run-budget.ts';
import { isGraph } from './define-graph.ts';
import { isSwarm } from './define-swarm.ts';
import { graphInputParts } from './graph-input.ts';
import {
  type AnyTarget,
  type ResumeSettings,
  rootIdentity,
  speaker,
  type TargetSettings,
  targetOf,
} from './start-target.ts';

/**
 * Gives a run to the pool of the runtime.
 * @throws SwarmError 'not-queueable', 'unknown-agent', 'invalid-input', 'invalid-limit', 'invalid-definition'
 */
export function queueTarget(
  core: RuntimeCore,
  target: AnyTarget | string,
  input: unknown,
  options: TargetSettings,
): Run<unknown> {
  const definition = registered(core, target);
  checkTravels(options);
  const kept = inputOf(definition, input);
  const { sessionId, runId } = idsOfRun(options, core.ids);
  const isNew = options.sessionId === undefined;
  const travels = {
    run: runId,
    session: sessionId,
    ...(isNew ? { isNew } : {}),
    target: definition.name,
    definition: definitionHash(definition),
    ...travelling(options),
  };
  return pooledRun(
    core,
    {
      ...options,
      sessionId,
      runId,
      isNew,
      mayBeKnown: options.runId !== undefined,
    },
    {
      target: definition.name,
      agent: () => speaker(definition),
      async submit(signal) {
        const queued: QueuedRun = { ...travels, input: await kept(core) };
        return deskOf(core).queue(queued, signal);
      },
    },
  );
}

/**
 * Has the pool take up the open turn of a session, whoever else asks for it meanwhile.
 * @throws SwarmError 'not-queueable', 'unknown-agent'
 */
export function queueResume(
  core: RuntimeCore,
  target: AnyTarget | string,
  sessionId: string,
  options: ResumeSettings,
): Run<unknown> {
  const definition = registered(core, target);
  checkTravels(options);
  const { runId } = idsOfRun(options, core.ids);
  return pooledRun(
    core,
    { ...options, sessionId, runId, isNew: false, mayBeKnown: false },
    {
      target: definition.name,
      agent: () => speaker(definition),
      async submit() {
        await rootIdentity(core, sessionId);
        if (wasTakenUp(await (await core.ledger).read(sessionId))) {
          throw new SwarmError('nothing-to-resume', 'the session has no open turn');
        }
        const decisions = await decisionsIn(core, sessionId, options);
        const wake = { session: sessionId, cause: `resume ${runId}`, by: runId, decisions };
        await deskOf(core).wake(wake);
        return true;
      },
    },
  );
}

function pooledRun(
  core: RuntimeCore,
  options: TargetSettings & Pick<PooledRunOptions, 'sessionId' | 'runId' | 'isNew' | 'mayBeKnown'>,
  ways: Pick<PooledRunOptions, 'target' | 'agent' | 'submit'>,
): Run<unknown> {
  const { sessionId, runId, isNew, mayBeKnown, signal, onApproval = 'wait' } = options;
  const live = createLiveBus(core.limits.events);
  const waitsForPeople = onApproval === 'wait';
  const ids = { sessionId, runId, isNew, mayBeKnown };
  const run = new PooledRun({ core, ...ids, waitsForPeople, live, signal, ...ways });
  return handleOf({ start: core, run, sessionId, live, startPosition: run.startPosition });
}

/**
 * Whether the last run of a session is over and whoever took it up was told so. Before, somebody may ask late: a decision
 * lets workers go on, and who then takes the turn up is to learn how it ended.
 */
function wasTakenUp(records: readonly LedgerRecord[]): boolean {
  const last = foldSession(records).turns.at(-1);
  const told = records.findLast((record) => record.type === 'run.settled');
  if (last?.closed === undefined || told?.type !== 'run.settled') return false;
  const { run, by, status } = told.data;
  const isOver = status !== 'paused' && told.seq > last.closed.seq;
  return isOver && (by !== undefined || run !== last.opened.data.run);
}

function deskOf({ pool }: RuntimeCore) {
  if (pool !== undefined) return pool;
  throw new SwarmError('not-queueable', 'the runtime has no pool');
}

/** What a worker finds by its name. @throws SwarmError 'unknown-agent', 'not-queueable', 'invalid-definition' */
function registered(core: RuntimeCore, target: AnyTarget | string): AnyTarget {
  const wanted = targetOf(core, target);
  const known = targetOf(core, wanted.name);
  if (known !== wanted) {
    const message = `${wanted.name} is another one in the registry: workers would run that`;
    throw new SwarmError('not-queueable', message);
  }
  reachableAgents(agentsIn(known), core.agents);
  return known;
}

function agentsIn(target: AnyTarget): readonly AnyAgent[] {
  if (isAgent(target)) return [target];
  return isSwarm(target) ? [target.supervisor, ...target.agents] : target.agents;
}

/** @throws SwarmError 'not-queueable' naming the option, 'invalid-limit', 'invalid-definition' */
function checkTravels({ context, clientTools, discovery, budget }: TargetSettings): void {
  const refuse = (what: string) => {
    throw new SwarmError('not-queueable', `${what} cannot travel to the workers of a pool`);
  };
  if (context !== undefined) refuse('context');
  if (clientTools !== undefined) refuse('clientTools');
  checkDiscovery(discovery, 'the run');
  for (const [name, value] of Object.entries(discovery ?? {})) {
    if (typeof value === 'function') refuse(`discovery.${name}`);
  }
  if (discovery?.repair?.model !== undefined) refuse('discovery.repair.model');
  createRunBudget(budget ?? {});
}

function travelling({ budget, boundTools, discovery }: TargetSettings): Partial<QueuedRun> {
  return {
    ...(budget === undefined ? {} : { budget: finite(budget) }),
    ...(boundTools === undefined ? {} : { boundTools }),
    ...(discovery === undefined ? {} : { discovery: plain(discovery) }),
  };
}

/** A bound that is infinite is none, and no JSON. */
function finite(budget: object): JsonObject {
  return Object.fromEntries(Object.entries(budget).filter(([, bound]) => Number.isFinite(bound)));
}

function plain(discovery: DiscoveryOptions): JsonObject {
  return toPlainJson(discovery) as JsonObject;
}

/** The input as it travels: media as artifacts. @throws SwarmError 'invalid-input'; 'input-too-large' when it sets out */
function inputOf(target: AnyTarget, input: unknown): (core: RuntimeCore) => Promise<JsonValue> {
  if (isGraph(target) && target.input !== undefined) {
    const text = graphInputParts(target, input);
    return async ({ limits }) => {
      assertFits(text, limits);
      return toPlainJson(input);
    };
  }
  const parts = isGraph(target) ? graphInputParts(target, input) : inputParts(input as RunInput);
  // A graph that takes text takes no parts of it.
  return async ({ limits, ledger }) => {
    assertFits(parts, limits);
    return typeof input === 'string' ? input : toPlainJson(await storeParts(parts, await ledger));
  };
}

/** What whoever resumes says of calls whose outcome is unknown, in the session and all below it. */
async function decisionsIn(
  core: RuntimeCore,
  sessionId: string,
  { indeterminate }: ResumeSettings,
): Promise<Readonly<Record<string, IndeterminateDecision>>> {
  if (indeterminate === undefined) return {};
  const ledger = await core.ledger;
  const decisions: Record<string, IndeterminateDecision> = {};
  for (const { turn } of await openInTree(ledger, sessionId)) {
    for (const call of indeterminateCalls(turn)) decisions[call.callId] = indeterminate(call);
  }
  return decisions;
}
