import { stepIdOf } from '../ids.ts';
import type { NewRecord } from '../ledger/records.ts';
import { capacityOf } from './capacity.ts';
import { foldHistory, mayFold } from './compaction.ts';
import { hasMedia } from './drop-media.ts';
import type { ProjectedRequest } from './request-projection.ts';
import type { TurnScope } from './turn-scope.ts';

/** What an attempt has shown forbids to send anything else in its place. */
export interface EmittedParts {
  readonly text: boolean;
  readonly reasoning: boolean;
  readonly toolActivity: boolean;
  readonly metadata: boolean;
}

/** Whether a request that the provider found too large may be made smaller: once a turn, and if there is a way. */
export function mayRecover(scope: TurnScope, emitted: EmittedParts, attempts: number): boolean {
  const { machine, plan, stop } = scope;
  if (emitted.text || emitted.reasoning || emitted.toolActivity || emitted.metadata) return false;
  if (machine.context.overflowUsed || stop.afterStep || stop.cause !== undefined) return false;
  return attempts < plan.limits.attempts.max && (mayFold(scope) || imagesIn(scope).length > 0);
}

/**
 * Makes room after an overflow: images of earlier results go first, else the history is folded. What was done is a
 * fact. False where neither was possible. @throws SwarmError when a fact could not be made durable
 */
export async function recoverOverflow(scope: TurnScope, rejected: ProjectedRequest): Promise<boolean> {
  const { context, plan, session } = scope;
  const tokens = context.estimate.of(rejected.size.tokens);
  // What was refused is over the window, whatever the window was said to be.
  context.windowTokens = Math.min(tokens, context.windowTokens ?? plan.model.contextWindow ?? tokens);
  context.mustBeBelow = rejected.size.tokens;
  const images = imagesIn(scope);
  const coversSeq = images.at(-1);
  if (coversSeq !== undefined) {
    await session.log.commit([recovered(scope, { by: 'images', tokens, coversSeq })]);
    return true;
  }
  const { windowTokens: contextWindow } = context;
  const history = (await session.conversation.reload()).slice();
  const room = capacityOf({ contextWindow }, plan.limits);
  const fold = await foldHistory(scope, { trigger: 'overflow', tokens, history, room, fits: false });
  if (fold.type === 'refused') return false;
  await session.log.commit([recovered(scope, { by: 'fold', tokens })]);
  return true;
}

function recovered(
  { turnId, progress }: TurnScope,
  data: Extract<NewRecord, { readonly type: 'overflow.recovered' }>['data'],
): NewRecord {
  return { type: 'overflow.recovered', turn: turnId, step: stepIdOf(turnId, progress.steps), data };
}

/** Places of results with images, those of the last step left out: that one is what the model is to look at. */
function imagesIn({ session }: TurnScope): readonly number[] {
  const { messages, places } = session.conversation;
  const last = messages.findLastIndex(({ role }) => role === 'tool');
  return messages.flatMap((message, at) => (at !== last && hasMedia(message) ? [places[at]?.seq ?? 0] : []));
}
