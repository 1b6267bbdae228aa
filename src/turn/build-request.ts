import { SwarmError } from '../errors.ts';
import { stepIdOf } from '../ids.ts';
import type { Failure } from '../ledger/records.ts';
import type { PromptMessage } from '../model/adapter.ts';
import type { BoundTool } from '../tools/binding.ts';
import type { WireForm } from '../tools/placeholder-tools.ts';
import { type Capacity, type CapacityVerdict, capacityOf, judgeCapacity } from './capacity.ts';
import { type FoldRefusal, foldHistory } from './compaction.ts';
import { applyPruning, type PruneReason, planPruning } from './prune-results.ts';
import { type ProjectedRequest, projectRequest } from './request-projection.ts';
import { CHARS_PER_TOKEN } from './token-estimate.ts';
import { projectTools, type ToolView } from './tool-projection.ts';
import type { TurnScope } from './turn-scope.ts';

/** The request that is wanted. */
export interface WantedRequest {
  readonly index: number;
  /** Texts that have waited for it. */
  readonly steering: readonly PromptMessage[];
  /** It takes the place of one of the same step, whose tools are frozen. */
  readonly keepsTools: boolean;
}

/** A request on its way, before it is frozen. */
interface RequestDraft {
  readonly system: string;
  readonly messages: readonly PromptMessage[];
  readonly visible: readonly BoundTool[];
  /** What the request carries of each of them, in the same order. */
  readonly wire: readonly WireForm[];
}

/** A request ready to be sent, or why there is none. */
export type Projection =
  | { readonly type: 'projected'; readonly projected: ProjectedRequest; readonly view: ToolView }
  | { readonly type: 'failed'; readonly failure: Failure };

/**
 * Builds the request of one step: history from the ledger, tools, gates, pruning, and one verdict on what is really
 * sent; history that takes too much is folded first. Nothing else of it is durable.
 */
export async function buildRequest(scope: TurnScope, wanted: WantedRequest): Promise<Projection> {
  const { index } = wanted;
  const first = await makeRequest(scope, wanted);
  if (first.type === 'failed') return first;
  const sized = sizeUp(scope, first);
  if (!wantsFold(scope, sized)) return judged(scope, index, sized, 'no_safe_completed_span');
  const { tokens, room, verdict, made } = sized;
  const fits = verdict !== 'over';
  const fold = await foldHistory(scope, { trigger: 'capacity', tokens, room, fits, history: made.history });
  if (fold.type === 'refused') {
    scope.context.skippedAt = tokens;
    return judged(scope, index, sized, fold.reason);
  }
  const second = await makeRequest(scope, wanted);
  if (second.type === 'failed') return second;
  return judged(scope, index, sizeUp(scope, second), 'head_anchor_exceeds_capacity');
}

interface Sized {
  readonly made: Extract<Made, { type: 'made' }>;
  readonly tokens: number;
  readonly room: Capacity | undefined;
  readonly verdict: CapacityVerdict;
}

function sizeUp(scope: TurnScope, made: Sized['made']): Sized {
  const tokens = scope.context.estimate.of(made.projected.size.tokens);
  const room = roomOf(scope);
  return { made, tokens, room, verdict: judgeCapacity(tokens, room) };
}

/** After a fold that could not be made, the next attempt waits until a tenth more has come, or the window is full. */
function wantsFold(scope: TurnScope, { tokens, verdict }: Sized): boolean {
  const { skippedAt } = scope.context;
  if (verdict === 'fits') return false;
  return verdict === 'over' || skippedAt === undefined || tokens > skippedAt * 1.1;
}

/** The last word on a request: under the window it is sent, whatever became of the fold. */
function judged(
  scope: TurnScope,
  index: number,
  sized: Sized,
  detail: FoldRefusal,
): Projection | Promise<Projection> {
  const { made, tokens, room, verdict } = sized;
  if (scope.stop.cause !== undefined) return failed('interrupted', 'the turn was stopped');
  const { mustBeBelow } = scope.context;
  if (mustBeBelow !== undefined && made.projected.size.tokens >= mustBeBelow) {
    return failed('context-overflow', 'no request smaller than the one the provider refused could be made');
  }
  if (verdict !== 'over') return passStepGate(scope, index, made);
  const message = `the request has about ${tokens} tokens, the window of the model ${room?.windowTokens ?? 0}`;
  return failed('context-budget-exhausted', message, detail);
}

function roomOf({ context, plan }: TurnScope): Capacity | undefined {
  const contextWindow = context.windowTokens ?? plan.model.contextWindow;
  return contextWindow === undefined ? undefined : capacityOf({ contextWindow }, plan.limits);
}

type Made =
  | Extract<Projection, { type: 'failed' }>
  | {
      readonly type: 'made';
      /** The history as it would be sent, without what is not in the ledger. */
      readonly history: readonly PromptMessage[];
      readonly projected: ProjectedRequest;
      readonly view: ToolView;
    };

async function makeRequest(scope: TurnScope, wanted: WantedRequest): Promise<Made> {
  const { index, steering, keepsTools } = wanted;
  const { plan } = scope;
  const history = await readHistory(scope);
  if (history.type === 'failed') return history;
  const pruned = prunedIn(scope, history.messages);
  if (!keepsTools && (pruned.size > 0 || isFolded(scope))) scope.tools.showReader();
  const view = projectTools(scope, index >= plan.limits.steps);
  if (view.visible.length > plan.limits.visibleTools) {
    const message = `${view.visible.length} tools are visible, ${plan.limits.visibleTools} may be`;
    return failed('too-many-tools', message);
  }
  const draft: RequestDraft = {
    system: withInventory(plan.instructions, scope.tools.catalogue.inventory),
    messages: [...history.messages, ...steering],
    visible: view.visible,
    wire: view.wire,
  };
  const gated = await passRequestGate(scope, index, draft);
  if (gated.type === 'failed') return gated;
  const { conversation } = scope.session;
  const messages = applyPruning(gated.draft.messages, pruned, conversation.placeOf);
  const projected = projectRequest(scope, { ...gated.draft, messages, toolChoice: view.toolChoice });
  const sent = applyPruning(history.messages, pruned, conversation.placeOf);
  return { type: 'made', history: sent, projected, view };
}

/** Results of this turn lie behind a checkpoint, which may name them. */
function isFolded({ session, turnId }: TurnScope): boolean {
  return session.conversation.places.some(({ kind, turn }) => kind === 'checkpoint' && turn === turnId);
}

function prunedIn(scope: TurnScope, messages: readonly PromptMessage[]): ReadonlyMap<string, PruneReason> {
  const room = roomOf(scope);
  if (room === undefined) return new Map();
  const { resultShare, minPrunedChars } = scope.plan.limits.context;
  const high = room.thresholdTokens * CHARS_PER_TOKEN * resultShare;
  const bounds = { high, low: high / 2, min: minPrunedChars };
  return planPruning(messages, scope.session.conversation.placeOf, bounds);
}

/** The inventory stands at one fixed place, the end of the system text. */
function withInventory(instructions: string, inventory: string): string {
  if (inventory === '') return instructions;
  return instructions === '' ? inventory : `${instructions}\n\n${inventory}`;
}

type History =
  | { readonly type: 'read'; readonly messages: readonly PromptMessage[] }
  | { readonly type: 'failed'; readonly failure: Failure };

/** What the ledger says now; without it nothing is sent and nothing runs. */
export async function readHistory(scope: TurnScope): Promise<History> {
  try {
    return { type: 'read', messages: await scope.session.conversation.reload() };
  } catch (error) {
    const kind = error instanceof SwarmError ? error.code : 'ledger-unavailable';
    return failed(kind, 'the history of the session cannot be read');
  }
}

type Drafted =
  | { readonly type: 'draft'; readonly draft: RequestDraft }
  | { readonly type: 'failed'; readonly failure: Failure };

async function passRequestGate(scope: TurnScope, index: number, draft: RequestDraft): Promise<Drafted> {
  const { plan, session } = scope;
  if (!plan.gates.has('beforeRequest')) return { type: 'draft', draft };
  const result = await plan.gates.run(
    'beforeRequest',
    {
      sessionId: session.sessionId,
      agentPath: session.agentPath,
      turnId: scope.turnId,
      stepIndex: index,
      model: plan.model.modelId,
      system: draft.system,
      messages: draft.messages,
      tools: draft.visible.map((bound) => bound.name),
    },
    scope.stop.signal,
  );
  if (result.type === 'refuse') return failed('gate-refused', result.reason);
  const { system, messages } = result.subject;
  return { type: 'draft', draft: { ...draft, system, messages } };
}

async function passStepGate(
  scope: TurnScope,
  index: number,
  { projected, view }: { readonly projected: ProjectedRequest; readonly view: ToolView },
): Promise<Projection> {
  const { plan, session } = scope;
  if (!plan.gates.has('beforeStep')) return { type: 'projected', projected, view };
  const result = await plan.gates.run(
    'beforeStep',
    {
      sessionId: session.sessionId,
      agentPath: session.agentPath,
      turnId: scope.turnId,
      stepId: stepIdOf(scope.turnId, index),
      stepIndex: index,
      model: plan.model.modelId,
      tools: view.visible.map((bound) => bound.name),
    },
    scope.stop.signal,
  );
  return result.type === 'refuse'
    ? failed('gate-refused', result.reason)
    : { type: 'projected', projected, view };
}

function failed(
  kind: string,
  message: string,
  detail?: string,
): { readonly type: 'failed'; readonly failure: Failure } {
  return { type: 'failed', failure: { kind, message, ...(detail === undefined ? {} : { detail }) } };
}
