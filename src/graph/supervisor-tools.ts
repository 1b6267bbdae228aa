import { askChild } from '../agent/ask-child.ts';
import type { ChildPermits } from '../agent/child-permits.ts';
import { ChildPlaces } from '../agent/child-places.ts';
import type { AnyAgent } from '../agent/define-agent.ts';
import type { Ancestor } from '../agent/lineage.ts';
import type { DelegatingTurn } from '../agent/turn-ways.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { BoundTool } from '../tools/binding.ts';
import {
  type RuntimeToolContext,
  RuntimeToolResult,
  runtimeTool,
  type StaysOpen,
} from '../tools/runtime-tool.ts';
import { cutChars, safeData, safeName } from '../tools/safe-text.ts';
import type { AnySwarm } from './define-swarm.ts';
import { graphPage, graphView } from './graph-view.ts';
import type { OperatorDriver } from './operator-driver.ts';
import { findTarget, operatorOutput } from './operator-output.ts';
import { presetPage } from './operator-presets.ts';
import {
  type OrchestrationInput,
  type OrchestrationTool,
  orchestrationTool,
  requiredNames,
} from './orchestration-tools.ts';
import type { Proposal } from './schedule.ts';
import { readUpdateCall } from './schedule-call.ts';
import { itemStatus, openWorks, swarmStatus, worksInOrder } from './swarm-status.ts';
import type { WorkState } from './work-state.ts';

/** What the tools of a supervisor act on. */
export interface SupervisorDesk {
  readonly swarm: AnySwarm;
  readonly driver: OperatorDriver;
  /** The supervisor as those below it see it. */
  readonly self: Ancestor;
  /** Places for agents that are spawned outside of the graph. */
  readonly permits: ChildPermits;
  /** The graph was shown as it was at this place of the session. */
  noteSeen(position: number): void;
  /** Works settled that the supervisor was not told of. */
  hasNews(): boolean;
}

type Result = RuntimeToolResult | StaysOpen;

type Runs = {
  readonly [N in OrchestrationTool]: (
    input: OrchestrationInput[N],
    ctx: RuntimeToolContext,
  ) => Promise<Result> | RuntimeToolResult;
};

/** The tools in every request of a supervisor, within the ceiling of the run. */
export function supervisorTools(desk: SupervisorDesk, turn: DelegatingTurn): readonly BoundTool[] {
  const { boundTools } = turn.request;
  return requiredNames(desk.swarm.mode)
    .filter((name) => boundTools?.includes(name) !== false)
    .map((name) => ownOf(desk, turn, name));
}

/** The tool that runs one agent outside of the graph; it has to be found. */
export function spawnTool(desk: () => SupervisorDesk, turn: () => DelegatingTurn): BoundTool {
  return runtimeTool(orchestrationTool('agent_spawn'), (input, ctx) =>
    // Arguments were validated against the schema of the tool.
    spawn(desk(), turn(), input as OrchestrationInput['agent_spawn'], ctx),
  );
}

function ownOf(desk: SupervisorDesk, turn: DelegatingTurn, name: OrchestrationTool): BoundTool {
  const runs: Runs = {
    agent_list: ({ view = 'selection', cursor }) => shown(presetPage(desk.swarm.agents, view, cursor)),
    agent_spawn: (input, ctx) => spawn(desk, turn, input, ctx),
    agent_output: (input) => showOutput(desk, turn, input),
    view_agent_graph: (input) => viewGraph(desk, input),
    update_agent_graph: (input, ctx) => updateGraph(desk, input, ctx),
    yield_agent_graph: (input, ctx) => yieldTo(desk, turn, input, ctx),
    agent_swarm_status: () => showStatus(desk),
  };
  // Arguments were validated against the schema of the tool, which is of the same name.
  const run = runs[name] as (input: unknown, ctx: RuntimeToolContext) => Promise<Result>;
  return runtimeTool(orchestrationTool(name), run);
}

function shown(value: JsonObject): RuntimeToolResult {
  return new RuntimeToolResult({ type: 'json', value }, []);
}

/** A result that shows the graph: what was settled up to here is no news any more. */
function shownGraph(desk: SupervisorDesk, value: JsonObject): RuntimeToolResult {
  const { position } = desk.driver.live;
  const settled = () => desk.noteSeen(position);
  return new RuntimeToolResult({ type: 'json', value }, [], settled, { seen: position });
}

/** Characters of a refusal: it may quote what the model wrote. */
const MAX_REFUSAL_CHARS = 2_000;

function refused(code: string, message: string): RuntimeToolResult {
  const text = `${cutChars(safeData(message), MAX_REFUSAL_CHARS)}. [${code}]`;
  return new RuntimeToolResult({ type: 'error', text }, [], undefined, { code });
}

function viewGraph(
  desk: SupervisorDesk,
  { mode = 'latest', cursor }: OrchestrationInput['view_agent_graph'],
): RuntimeToolResult {
  if (mode === 'latest') return shownGraph(desk, graphView(desk.driver, 'full'));
  const page = graphPage(desk.driver, cursor);
  return page === undefined
    ? refused('stale-cursor', 'The graph has changed since that cursor; begin again without one')
    : shown(page);
}

/** Works of a status that are shown one by one. */
const MAX_ITEMS = 64;

function showStatus(desk: SupervisorDesk): RuntimeToolResult {
  const { driver, swarm } = desk;
  const isBlocked = (work: WorkState) => driver.isBlocked(work);
  const { status, counts } = swarmStatus(driver.schedule, isBlocked);
  const works = worksInOrder(driver.schedule);
  const items = works.slice(-MAX_ITEMS).map((work) => ({
    work_id: work.work,
    operator_id: work.operator.spec.operator,
    status: itemStatus(work, isBlocked(work)),
  }));
  const omitted = works.length - items.length;
  return shownGraph(desk, { swarm: swarm.name, status, counts: { ...counts }, items, omitted });
}

async function showOutput(
  { driver }: SupervisorDesk,
  { session }: DelegatingTurn,
  { target_id, view = 'result', max_events = 20, max_bytes = 32 * 1_024 }: OrchestrationInput['agent_output'],
): Promise<RuntimeToolResult> {
  const work = findTarget(driver, target_id);
  if (work === undefined) {
    return refused('unknown-target', `There is no work and no operator ${safeName(target_id)} in the graph`);
  }
  const { ledger } = session.parts;
  const query = { view, maxEvents: max_events, maxBytes: max_bytes };
  return shown(await operatorOutput(driver, work, query, { ledger, read: (id) => ledger.read(id) }));
}

async function updateGraph(
  desk: SupervisorDesk,
  input: OrchestrationInput['update_agent_graph'],
  ctx: RuntimeToolContext,
): Promise<RuntimeToolResult> {
  const { driver, swarm, self } = desk;
  if (input.operation === 'add_work' && self.limits.depth < 1) {
    return refused('depth-limit', 'Agents may not work below this one here');
  }
  const { schedule } = driver;
  // What is stopped from here on is not set going again by this.
  const basis = schedule.revision;
  const presets = new Set(swarm.agents.map(({ name }) => name));
  const call = readUpdateCall(input, { callId: ctx.callId, schedule, presets });
  if (call.type === 'wrong') return refused(call.code, call.message);
  const proposal = await driver.update(() => call.request, basis);
  if (proposal.type === 'rejected') return refused(proposal.code, rejectionText(proposal));
  await driver.passed();
  return shownGraph(desk, {
    ...(call.added.length === 0 ? {} : { added: call.added.map((one) => ({ ...one })) }),
    ...(call.stopped.length === 0 ? {} : { stopped: call.stopped.map((one) => ({ ...one })) }),
    graph: graphView(driver, 'brief'),
  });
}

function rejectionText({ message }: Extract<Proposal, { readonly type: 'rejected' }>): string {
  return `Nothing was changed: ${message}`;
}

async function yieldTo(
  desk: SupervisorDesk,
  turn: DelegatingTurn,
  { reason }: OrchestrationInput['yield_agent_graph'],
  ctx: RuntimeToolContext,
): Promise<RuntimeToolResult> {
  const { driver } = desk;
  const { schedule } = driver;
  if (!(await isAlone(turn, ctx))) {
    return refused('not-alone', 'The yield was not honoured: it must be the only call of its message');
  }
  await driver.passed();
  if (schedule.finish !== undefined) {
    return refused('graph-finished', 'There is nothing to wait for: the graph is finished. Answer now');
  }
  const pending = openWorks(schedule);
  if (!desk.hasNews()) {
    if (pending === 0) return refused('nothing-pending', 'There is nothing to wait for: no work is open');
    // A person may set a work going that waits for one.
    if (driver.isQuiet && driver.left.size === 0) {
      return refused('no-checkpoint', 'No open work can go on by itself: nothing would ever wake you');
    }
  }
  const value = {
    kind: 'graph_yield',
    pending_work_count: pending,
    live_operator_count: driver.runningCount,
    reason,
  };
  return new RuntimeToolResult({ type: 'json', value }, [], () => {
    turn.scope().progress.yields = true;
  });
}

/** Also calls of the step that were refused share it. */
async function isAlone({ scope, session }: DelegatingTurn, ctx: RuntimeToolContext): Promise<boolean> {
  const records = await session.parts.ledger.read(ctx.sessionId, scope().fromSeq);
  return records.filter(({ type, step }) => type === 'tool.called' && step === ctx.stepId).length === 1;
}

async function spawn(
  { swarm, self, permits }: SupervisorDesk,
  turn: DelegatingTurn,
  { subagent_id, task }: OrchestrationInput['agent_spawn'],
  ctx: RuntimeToolContext,
): Promise<Result> {
  const agent = swarm.agents.find(({ name }) => name === subagent_id);
  if (agent === undefined) return refused('unknown-agent', noAgentText(subagent_id, swarm.agents));
  const { request, session, before, scope } = turn;
  const known = new Map(before.children);
  // A supervisor stays where its schedule is, and its children with it.
  const places = new ChildPlaces(self.limits.fanOut);
  const delegation = { request, session, turn: scope(), self, known, permits, places };
  return askChild(delegation, agent, { task }, ctx);
}

function noAgentText(name: string, agents: readonly AnyAgent[]): string {
  return `There is no agent ${safeName(name)}; subagent_id is one of: ${agents.map((one) => one.name).join(', ')}`;
}
