import type { AgentDefinition, AnyAgent } from '../../src/agent/define-agent.ts';
import type { RuntimeOptions } from '../../src/agent/runtime-options.ts';
import { type AnySwarm, defineSwarm, type Swarm, type SwarmMode } from '../../src/graph/define-swarm.ts';
import type { JsonObject, JsonValue } from '../../src/ledger/content.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord, RecordOf, RecordType } from '../../src/ledger/records.ts';
import type { LimitOptions } from '../../src/limits.ts';
import type { Runtime } from '../../src/runtime.ts';
import { type Reply, reply } from '../../src/testing/reply.ts';
import type { ParsedRequest, Script, ScriptedResponse } from '../../src/testing/script.ts';
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

/** One work, as a supervisor asks for it. */
export type Item = JsonObject & { readonly instruction: string };

/** A work for a new operator of the agent `worker`. */
export function item(instruction: string, more: JsonObject = {}): Item {
  return { target: { type: 'new_agent', id: 'worker' }, instruction, ...more };
}

/** A work for an operator that is there. */
export function itemFor(operator: string, instruction: string, more: JsonObject = {}): Item {
  return { target: { type: 'existing_operator', id: operator }, instruction, ...more };
}

export function adds(...items: readonly Item[]): Reply {
  return reply().call('update_agent_graph', { operation: 'add_work', add_work: [...items] });
}

export function stops(...targets: readonly string[]): Reply {
  const stop = targets.map((target_id) => ({ target_id, reason: 'not needed' }));
  return reply().call('update_agent_graph', { operation: 'stop', stop });
}

export function finishes(...result_ids: readonly string[]): Reply {
  const finish = { result_ids: [...result_ids], reason: 'enough' };
  return reply().call('update_agent_graph', { operation: 'finish', finish });
}

export function yields(): Reply {
  return reply().call('yield_agent_graph', { reason: 'nothing to do until then' });
}

/** What a worker does, by the first line of what it was told. */
export type WorkerPlay = (task: string, request: ParsedRequest, index: number) => ScriptedResponse;

/** The last text a request was given by anybody but its model. */
export function promptOf({ messages }: Pick<ParsedRequest, 'messages'>): string {
  return messages.findLast(({ role }) => role === 'user')?.text ?? '';
}

export function taskOf(request: Pick<ParsedRequest, 'messages'>): string {
  return promptOf(request).split('\n')[0] ?? '';
}

interface TeamOptions {
  readonly mode?: SwarmMode;
  readonly lead: Script;
  readonly worker?: WorkerPlay;
  readonly limits?: LimitOptions;
  readonly leadMore?: Partial<AgentDefinition<unknown>>;
  readonly workerMore?: Partial<AgentDefinition<unknown>>;
  readonly others?: readonly AnyAgent[];
}

export interface Team {
  readonly swarm: Swarm;
  readonly lead: ScriptedModel;
  readonly worker: ScriptedModel;
}

/** A swarm of a supervisor `lead` and agents `worker`, whose models say what they are told. */
export function team({ mode = 'swarm', lead, worker, limits, ...more }: TeamOptions): Team {
  const boss = scriptedAgent(lead, { name: 'lead', ...more.leadMore });
  const play: WorkerPlay = worker ?? ((task) => reply().text(`Did: ${task}`));
  const model = scriptedModel({ script: (request, index) => play(taskOf(request), request, index) });
  const hand = scriptedAgent([], { name: 'worker', ...more.workerMore, model });
  const swarm = defineSwarm({
    name: 'team',
    supervisor: boss.agent,
    agents: [hand.agent, ...((more.others ?? []) as readonly (typeof hand.agent)[])],
    mode,
    ...(limits === undefined ? {} : { limits }),
  });
  return { swarm, lead: boss.model, worker: model };
}

/** A watched runtime that knows a swarm. */
export function runtimeOf(
  swarm: AnySwarm,
  options: Omit<RuntimeOptions, 'inspect' | 'agents'> = {},
): ReturnType<typeof watchedRuntime> {
  return watchedRuntime({ ...options, agents: { [swarm.name]: swarm } });
}

/** All records of a ledger, session by session in the order they were opened. */
export async function recordsIn(ledger: Ledger): Promise<readonly LedgerRecord[]> {
  const sessions = await ledger.sessions();
  return (await Promise.all(sessions.map(({ sessionId }) => ledger.read(sessionId)))).flat();
}

export async function factsOf<T extends RecordType>(
  ledger: Ledger,
  type: T,
): Promise<readonly RecordOf<T>[]> {
  return (await recordsIn(ledger)).filter((record): record is RecordOf<T> => record.type === type);
}

/** Sessions of operators, with what they answered to. */
export async function childrenOf(runtime: Runtime, root: string): Promise<readonly string[]> {
  return (await runtime.sessions.list({ root }))
    .map(({ sessionId }) => sessionId)
    .filter((id) => id !== root);
}

/** Results of the calls of one request's last step, parsed where they are JSON. */
export function resultsIn(model: ScriptedModel, ordinal: number): readonly JsonValue[] {
  const { messages } = model.requests[ordinal] ?? { messages: [] };
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages
    .slice(last + 1)
    .filter(({ role }) => role === 'tool')
    .map(({ text }) => parsed(text));
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

/** What a supervisor was told when it was woken by the request of that ordinal. */
export function wakeIn(model: ScriptedModel, ordinal: number): JsonObject {
  const { messages } = model.requests[ordinal] ?? { messages: [] };
  return JSON.parse(promptOf({ messages }).split('\n')[1] ?? '') as JsonObject;
}

/** Resolves when the ledger holds so many facts of a type, of one agent where it is named. */
export async function factsSeen(ledger: Ledger, type: RecordType, count = 1, agent?: string): Promise<void> {
  const found = async () =>
    (await factsOf(ledger, type)).filter((fact) => agent === undefined || fact.agent === agent);
  while ((await found()).length < count) await new Promise(setImmediate);
}
