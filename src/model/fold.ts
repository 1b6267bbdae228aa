import type { AssistantPart, JsonObject } from '../ledger/content.ts';
import type { Emitted, ModelFailure, ReturnedCall, StepReport } from './adapter.ts';
import type { ProviderMetadata, ProviderUsage, UnifiedFinish } from './language-model.ts';
import { mergeMetadata } from './provider-json.ts';

/** A block of text or thinking on its way: deltas are joined once, when the response is over. */
export interface OpenBlock {
  readonly type: 'text' | 'reasoning';
  readonly deltas: string[];
  metadata: JsonObject | undefined;
  /** Sources a block names when it closes; they stand right behind it. */
  readonly sources: AssistantPart[];
}

type Block = OpenBlock | { readonly type: 'whole'; readonly part: AssistantPart };

/** Everything known of a response so far. One fold belongs to one step and is changed in place. */
export interface Fold {
  readonly blocks: Block[];
  readonly open: { readonly text: Map<string, OpenBlock>; readonly reasoning: Map<string, OpenBlock> };
  /** Tool inputs that began and have not become a call. */
  readonly inputs: Map<string, { readonly providerExecuted: boolean }>;
  readonly calls: ReturnedCall[];
  readonly emitted: { -readonly [K in keyof Emitted]: boolean };
  readonly warnings: string[];
  readonly response: { id?: string; modelId?: string; requestId?: string };
  /** Characters of everything kept. */
  chars: number;
  usage: ProviderUsage | undefined;
  finish: { readonly unified: UnifiedFinish; readonly raw: string | undefined } | undefined;
  /** The first thing that went wrong; later ones follow from it. */
  error: { readonly error: unknown } | undefined;
  /** A failure that is already in our words; nothing after it is read. */
  fault: ModelFailure | undefined;
}

/** A fold of nothing yet. */
export function createFold(): Fold {
  return {
    blocks: [],
    open: { text: new Map(), reasoning: new Map() },
    inputs: new Map(),
    calls: [],
    emitted: { text: false, reasoning: false, toolActivity: false, metadata: false },
    warnings: [],
    response: {},
    chars: 0,
    usage: undefined,
    finish: undefined,
    error: undefined,
    fault: undefined,
  };
}

/** The block a delta belongs to; a package that never opened it means a new one. */
export function blockOf(
  fold: Fold,
  type: OpenBlock['type'],
  id: string,
  metadata: ProviderMetadata | undefined,
): OpenBlock {
  const block = fold.open[type].get(id);
  if (block === undefined) return openBlock(fold, type, id, metadata);
  if (metadata !== undefined) attach(fold, block, metadata);
  return block;
}

/** A new block at the end of the response. */
export function openBlock(
  fold: Fold,
  type: OpenBlock['type'],
  id: string,
  metadata: ProviderMetadata | undefined,
): OpenBlock {
  const block: OpenBlock = { type, deltas: [], metadata: undefined, sources: [] };
  fold.open[type].set(id, block);
  fold.blocks.push(block);
  attach(fold, block, metadata);
  return block;
}

/** Ends a block; what the package attached to its end is kept with it. */
export function closeBlock(
  fold: Fold,
  type: OpenBlock['type'],
  id: string,
  metadata: ProviderMetadata | undefined,
): OpenBlock | undefined {
  const block = fold.open[type].get(id);
  if (block === undefined) return undefined;
  attach(fold, block, metadata);
  // Some packages give every block the same id, one after the other.
  fold.open[type].delete(id);
  return block;
}

/** Adds metadata to a block. It makes the response one that a retry would lose. */
export function attach(fold: Fold, block: OpenBlock, metadata: ProviderMetadata | undefined): void {
  block.metadata = mergeMetadata(block.metadata, metadata);
  fold.emitted.metadata ||= block.metadata !== undefined;
}

/** Warnings of one response that are kept. */
const MAX_WARNINGS = 64;

/** Adds a warning once; the same one says nothing new. */
export function warn(fold: Fold, warning: string): void {
  if (fold.warnings.length < MAX_WARNINGS && !fold.warnings.includes(warning)) fold.warnings.push(warning);
}

/** Characters of text so far, white space included. */
export function hasText(fold: Fold): boolean {
  return fold.emitted.text;
}

/** True if the response holds anything an answer can be made of. */
export function hasAnswer(fold: Fold): boolean {
  return (
    fold.emitted.text || fold.blocks.some((block) => block.type === 'whole' && block.part.type === 'file')
  );
}

/**
 * What is known of the response. Without `withCalls` the calls are left out: those of a response that did not
 * complete may be cut and never run.
 */
export function reportOf(
  fold: Fold,
  withCalls: boolean,
): Pick<StepReport, 'content' | 'calls' | 'emitted' | 'response'> {
  const content: AssistantPart[] = [];
  for (const block of fold.blocks) {
    if (block.type === 'whole') {
      if (withCalls || block.part.type !== 'call') content.push(block.part);
      continue;
    }
    const text = block.deltas.join('');
    if (text !== '' || block.metadata !== undefined) {
      content.push({
        type: block.type,
        text,
        ...(block.metadata !== undefined && { providerMetadata: block.metadata }),
      });
    }
    content.push(...block.sources);
  }
  return {
    content,
    calls: withCalls ? fold.calls : [],
    emitted: { ...fold.emitted },
    response: { ...fold.response },
  };
}
