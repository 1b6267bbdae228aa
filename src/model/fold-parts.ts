import type { AssistantPart } from '../ledger/content.ts';
import type { ReturnedCall, StepEvent } from './adapter.ts';
import { attach, blockOf, closeBlock, type Fold, type OpenBlock, openBlock, warn } from './fold.ts';
import type { Citation, ProviderMetadata, StreamPart } from './language-model.ts';
import { fileSource, mergeMetadata, toJsonObject } from './provider-json.ts';
import { warningText } from './warning-text.ts';

/** Where a provider puts what must come back with the thinking, when that is the end of the response. */
type FinishMetadata = (metadata: ProviderMetadata) => ProviderMetadata | undefined;

export interface FoldOptions {
  /** Characters of one response. */
  readonly maxChars: number;
  readonly finishMetadata?: FinishMetadata;
}

/** Takes one part into `fold`; returns what an observer sees of it. Cost: constant, whatever came before. */
export function foldPart(fold: Fold, part: StreamPart, options: FoldOptions): StepEvent | undefined {
  const event = takePart(fold, part, options);
  if (fold.chars > options.maxChars) {
    fold.fault ??= {
      kind: 'malformed-response',
      detail: 'too-large',
      message: `the response is larger than ${options.maxChars} characters`,
      retryable: false,
      phase: 'stream',
    };
  }
  return event;
}

function takePart(fold: Fold, part: StreamPart, options: FoldOptions): StepEvent | undefined {
  switch (part.type) {
    case 'text-delta':
      return takeDelta(fold, blockOf(fold, 'text', part.id, part.providerMetadata), part.delta);
    case 'reasoning-delta':
      return takeDelta(fold, blockOf(fold, 'reasoning', part.id, part.providerMetadata), part.delta);
    case 'text-start':
      openBlock(fold, 'text', part.id, part.providerMetadata);
      return undefined;
    case 'reasoning-start':
      openBlock(fold, 'reasoning', part.id, part.providerMetadata);
      return undefined;
    case 'text-end':
      closeText(fold, part.id, part.providerMetadata, part.citations);
      return undefined;
    case 'reasoning-end':
      closeBlock(fold, 'reasoning', part.id, part.providerMetadata);
      return undefined;
    case 'finish':
      fold.finish = part.finishReason;
      fold.usage = part.usage;
      takeFinishMetadata(fold, part.providerMetadata, options);
      return undefined;
    case 'error':
      fold.error ??= { error: part.error };
      return undefined;
    case 'response-metadata':
      if (part.id) fold.response.id = part.id;
      if (part.modelId) fold.response.modelId = part.modelId;
      return undefined;
    case 'stream-start':
      for (const warning of part.warnings) warn(fold, warningText(warning));
      return undefined;
    case 'ping':
    case 'raw':
      return undefined;
    default:
      return takeTool(fold, part);
  }
}

function takeTool(fold: Fold, part: Exclude<StreamPart, { type: 'raw' }>): StepEvent | undefined {
  switch (part.type) {
    case 'tool-input-start': {
      const providerExecuted = part.providerExecuted === true;
      fold.inputs.set(part.id, { providerExecuted });
      fold.emitted.toolActivity = true;
      return { type: 'tool-input', toolName: part.toolName, providerExecuted };
    }
    case 'tool-input-delta':
      fold.chars += part.delta.length;
      return undefined;
    case 'tool-input-end':
      return undefined;
    case 'tool-call':
      return takeCall(fold, part);
    case 'tool-result':
      return takeProviderResult(fold, part);
    case 'tool-approval-request':
      fold.emitted.toolActivity = true;
      fold.fault ??= {
        kind: 'invalid-request',
        detail: 'provider-approval',
        message: 'the provider asks for approval of a tool it runs itself; that is not supported',
        retryable: false,
        phase: 'stream',
      };
      return undefined;
    default:
      takeItem(fold, part);
      return undefined;
  }
}

function takeItem(fold: Fold, part: Exclude<StreamPart, { type: 'raw' }>): void {
  switch (part.type) {
    case 'source':
      addWhole(fold, sourcePart(part, undefined));
      return;
    case 'file': {
      const metadata = mergeMetadata(undefined, part.providerMetadata);
      const source = fileSource(part.data);
      addWhole(fold, {
        type: 'file',
        mediaType: part.mediaType,
        source,
        ...(metadata !== undefined && { providerMetadata: metadata }),
      });
      fold.emitted.metadata ||= metadata !== undefined;
      return;
    }
    case 'reasoning-file': {
      const { data, ...rest } = part;
      addProviderItem(fold, { ...rest, source: fileSource(data) });
      return;
    }
    case 'custom':
      addProviderItem(fold, part);
      return;
    default:
      // A newer package may send what this version has no word for.
      warn(fold, `a part of kind ${String(part.type).slice(0, 64)} was not understood`);
  }
}

type PartOf<T extends StreamPart['type']> = Extract<StreamPart, { type: T }>;

function takeCall(fold: Fold, part: PartOf<'tool-call'>): StepEvent | undefined {
  fold.emitted.toolActivity = true;
  const announced = fold.inputs.delete(part.toolCallId);
  if (part.providerExecuted === true) {
    addProviderItem(fold, part);
    return announced ? undefined : { type: 'tool-input', toolName: part.toolName, providerExecuted: true };
  }
  const providerMetadata = mergeMetadata(undefined, part.providerMetadata);
  const call: ReturnedCall = {
    ordinal: fold.calls.length,
    wireId: part.toolCallId,
    toolName: part.toolName,
    input: inputText(part.input),
    ...(providerMetadata !== undefined && { providerMetadata }),
  };
  fold.calls.push(call);
  fold.blocks.push({ type: 'whole', part: { type: 'call', ordinal: call.ordinal } });
  // Deltas of the input were counted when they came.
  if (!announced) fold.chars += call.input.length;
  fold.emitted.metadata ||= providerMetadata !== undefined;
  return { type: 'tool-call', call };
}

function inputText(input: unknown): string {
  // The interface says text; a model of somebody else may still hand over the object.
  return typeof input === 'string' ? input : (JSON.stringify(input) ?? '');
}

function takeProviderResult(fold: Fold, part: PartOf<'tool-result'>): StepEvent | undefined {
  fold.emitted.toolActivity = true;
  if (part.preliminary === true) return undefined;
  addProviderItem(fold, part);
  return { type: 'provider-tool-result', toolName: part.toolName, isError: part.isError === true };
}

function addProviderItem(fold: Fold, part: object): void {
  const item = toJsonObject(part);
  if (item === undefined) return;
  addWhole(fold, { type: 'provider-item', item });
  fold.emitted.metadata = true;
}

function addWhole(fold: Fold, part: AssistantPart): void {
  fold.blocks.push({ type: 'whole', part });
  const bytes = part.type === 'file' && part.source.type === 'base64' ? part.source.data : undefined;
  fold.chars += bytes?.length ?? JSON.stringify(part).length;
}

function sourcePart(source: PartOf<'source'>, citation: Citation | undefined): AssistantPart {
  const { type: _, ...fields } = source;
  const { source: __, ...span } = citation ?? { source };
  return { type: 'source', source: toJsonObject({ ...fields, ...span }) ?? {} };
}

function takeDelta(fold: Fold, block: OpenBlock, delta: string): StepEvent | undefined {
  if (delta === '') return undefined;
  block.deltas.push(delta);
  fold.chars += delta.length;
  fold.emitted[block.type] = true;
  return block.type === 'text'
    ? { type: 'text-delta', text: delta }
    : { type: 'reasoning-delta', text: delta };
}

function closeText(
  fold: Fold,
  id: string,
  metadata: ProviderMetadata | undefined,
  citations: readonly Citation[] | undefined,
): void {
  const block = closeBlock(fold, 'text', id, metadata);
  for (const citation of citations ?? []) block?.sources.push(sourcePart(citation.source, citation));
}

function takeFinishMetadata(fold: Fold, metadata: ProviderMetadata | undefined, options: FoldOptions): void {
  const owed = metadata === undefined ? undefined : options.finishMetadata?.(metadata);
  if (owed === undefined) return;
  const last = fold.blocks.findLast((one): one is OpenBlock => one.type === 'reasoning');
  const block: OpenBlock = last ?? { type: 'reasoning', deltas: [], metadata: undefined, sources: [] };
  // Thinking that is only a sealed payload still comes before the answer.
  if (last === undefined) fold.blocks.unshift(block);
  attach(fold, block, owed);
}
