import type { Usage } from '../ledger/content.ts';
import type { RecordData } from '../ledger/records.ts';
import type { Model, PromptMessage } from '../model/adapter.ts';
import { cutChars } from '../tools/safe-text.ts';
import type { Capacity } from './capacity.ts';
import { chooseSpan, type FoldSpan, keptMessages, type PlacedHistory } from './fold-span.ts';
import { transcriptOf } from './fold-transcript.ts';
import { noteUsage } from './step-facts.ts';
import { type SummaryEnd, summarize } from './summarizer.ts';
import { CHARS_PER_TOKEN, countByChars, sizeOfMessage } from './token-estimate.ts';
import type { TurnScope } from './turn-scope.ts';

/** How an agent's history is folded. */
export interface CompactionPlan {
  /** Sums up; the agent's own model by default. */
  readonly model?: Model;
  /** Agents that another one asked have it only where it was given to them. */
  readonly isGiven: boolean;
}

/** Why no fold was made; over the window it is the detail of the turn's failure. */
export type FoldRefusal =
  | 'no_safe_completed_span'
  | 'summarizer_failed'
  | 'head_anchor_exceeds_capacity'
  | 'compaction_refused'
  | 'compaction_off'
  | 'budget_used_up'
  | 'stopped';

export type FoldEnd =
  | { readonly type: 'folded' }
  | { readonly type: 'refused'; readonly reason: FoldRefusal };

/** What asks for a fold. */
export interface FoldNeed {
  readonly trigger: 'capacity' | 'overflow';
  /** The request that is too large: its estimate, and its history as it would be sent. */
  readonly tokens: number;
  readonly history: readonly PromptMessage[];
  /** Room the request must have; unknown after the overflow of a model without a window. */
  readonly room: Capacity | undefined;
  /** Whether the request may be sent without a fold. */
  readonly fits: boolean;
}

/** Characters of a transcript for a model whose window is not known. */
const DEFAULT_TRANSCRIPT_CHARS = 100_000;
/** A history this short is not worth a request. */
const MIN_FOLDED_TOKENS = 200;

/**
 * Folds the beginning of the history into a checkpoint, which is durable before any request is built on it. Only at
 * the border of two steps; never rejects but for a fact that could not be made durable.
 * @throws SwarmError of that commit
 */
export async function foldHistory(scope: TurnScope, need: FoldNeed): Promise<FoldEnd> {
  const { machine, plan, session, turnId } = scope;
  if (need.trigger === 'capacity') machine.send({ type: 'NEEDS_COMPACTION' });
  const prepared = await prepare(scope, need);
  if (prepared.type === 'refused') return refuse(scope, need, prepared.reason);
  const { span } = prepared;
  const { conversation, clock } = session;
  const folded = span.folded.flatMap((at) => prepared.history.messages[at] ?? []);
  const summary = await summarize({
    model: plan.compaction?.model ?? plan.model,
    clock,
    limits: plan.limits,
    signal: scope.stop.signal,
    maxChars: transcriptChars(plan.compaction?.model ?? plan.model, plan.limits.context.summaryTokens),
    transcript: (maxChars) => transcriptOf(folded, conversation.placeOf, maxChars),
  });
  noteSummary(scope, summary);
  const fromChars = charsOf(folded);
  const maxChars = plan.limits.context.summaryTokens * CHARS_PER_TOKEN * 2;
  const text = summary.text === undefined ? '' : cutChars(summary.text, maxChars);
  if (text === '' || text.length >= fromChars) return refuse(scope, need, 'summarizer_failed', summary);
  const { requests, usage } = summary;
  const data: RecordData<'compaction.committed'> = {
    trigger: need.trigger,
    coversSeq: span.coversSeq,
    messages: folded.length,
    fromChars,
    toChars: text.length,
    summary: text,
    requests,
    ...(usage === undefined ? {} : { usage }),
  };
  await session.log.commit([{ type: 'compaction.committed', turn: turnId, data }]);
  if (need.trigger === 'capacity') machine.send({ type: 'COMPACTED' });
  return { type: 'folded' };
}

type Prepared =
  | { readonly type: 'prepared'; readonly span: FoldSpan; readonly history: PlacedHistory }
  | { readonly type: 'refused'; readonly reason: FoldRefusal };

async function prepare(scope: TurnScope, need: FoldNeed): Promise<Prepared> {
  const refused = (reason: FoldRefusal): Prepared => ({ type: 'refused', reason });
  if (!mayFold(scope)) return refused('compaction_off');
  if (scope.run.budget.isSpent([])) return refused('budget_used_up');
  const history = await placedHistory(scope);
  const span = spanOf(scope, need, history);
  if (typeof span === 'string') return refused(span);
  const gate = await passGate(scope, need);
  return gate === undefined ? { type: 'prepared', span, history } : refused(gate);
}

/** Whether the turn may fold its history at all: that of a child is short, unless its agent says otherwise. */
export function mayFold({ plan }: TurnScope): boolean {
  return plan.compaction !== undefined && (plan.compaction.isGiven || !plan.answersAtLastStep);
}

async function placedHistory({ session }: TurnScope): Promise<PlacedHistory> {
  const { conversation } = session;
  const messages = await conversation.reload();
  return { messages, places: conversation.places };
}

/** What is to be folded so that the rest has room, or why nothing can be. */
function spanOf(scope: TurnScope, need: FoldNeed, history: PlacedHistory): FoldSpan | FoldRefusal {
  const { plan, turnId } = scope;
  const count = plan.model.countTokens ?? countByChars;
  const sent = new Map(history.messages.map((message, at) => [message, need.history[at] ?? message]));
  const sizeOf = (message: PromptMessage) => sizeOfMessage(sent.get(message) ?? message, count).tokens;
  const sum = (messages: readonly PromptMessage[]) =>
    messages.reduce((total, message) => total + sizeOf(message), 0);
  const kept = keptMessages(history, turnId);
  const window = need.room?.windowTokens ?? need.tokens;
  if (need.tokens - sum(history.messages) + sum(kept) > window) return 'head_anchor_exceeds_capacity';
  const tail = (need.room?.thresholdTokens ?? need.tokens) * plan.limits.context.tailShare;
  const span =
    chooseSpan(history, { turn: turnId, tail, sizeOf }) ??
    chooseSpan(history, { turn: turnId, tail: 0, sizeOf });
  if (span === undefined) return 'no_safe_completed_span';
  const folded = sum(span.folded.flatMap((at) => history.messages[at] ?? []));
  const isEnough = folded >= MIN_FOLDED_TOKENS && (need.fits || need.tokens - folded <= window);
  return isEnough ? span : 'no_safe_completed_span';
}

async function passGate(scope: TurnScope, need: FoldNeed): Promise<FoldRefusal | undefined> {
  const { plan, session, stop, turnId } = scope;
  if (!plan.gates.has('beforeCompaction')) return undefined;
  const { sessionId, agentPath } = session;
  const windowTokens = need.room?.windowTokens ?? need.tokens;
  const subject = { sessionId, agentPath, turnId, estimatedTokens: need.tokens, windowTokens };
  const result = await plan.gates.run('beforeCompaction', subject, stop.signal);
  return result.type === 'refuse' ? 'compaction_refused' : undefined;
}

async function refuse(
  scope: TurnScope,
  need: FoldNeed,
  wanted: FoldRefusal,
  cost: SummaryEnd = { requests: 0, usage: {} },
): Promise<FoldEnd> {
  const { machine, session, stop, turnId } = scope;
  // A turn that was stopped meanwhile ends for that reason; it has nothing to say of its history.
  const reason = stop.cause === undefined ? wanted : 'stopped';
  const { trigger, fits } = need;
  const { requests, usage } = cost;
  if (reason !== 'stopped' || requests > 0) {
    const data = { trigger, reason, fits, requests, ...(usage === undefined ? {} : { usage }) };
    await session.log.commit([{ type: 'compaction.skipped', turn: turnId, data }]);
  }
  if (trigger === 'capacity') {
    machine.send({ type: 'COMPACTION_FAILED', kind: 'context-budget-exhausted', underWindow: fits });
  }
  return { type: 'refused', reason };
}

interface SummaryCost {
  readonly requests: number;
  readonly usage?: Usage | undefined;
}

/** What a summary cost is part of what the turn cost. */
function noteSummary(scope: TurnScope, { requests, usage }: SummaryCost): void {
  if (requests > 0) noteUsage(scope, usage, usage !== undefined);
}

function charsOf(messages: readonly PromptMessage[]): number {
  return messages.reduce((sum, message) => sum + sizeOfMessage(message, countByChars).chars, 0);
}

function transcriptChars({ contextWindow }: Model, summaryTokens: number): number {
  if (contextWindow === undefined) return DEFAULT_TRANSCRIPT_CHARS;
  // Texts of other languages and code have fewer characters a token than the usual four.
  return Math.max(
    4_000,
    (contextWindow * 0.75 - Math.min(summaryTokens, contextWindow / 4)) * (CHARS_PER_TOKEN - 1),
  );
}
