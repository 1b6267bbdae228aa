import { hash } from 'node:crypto';
import type { RecordData } from '../ledger/records.ts';
import type { PromptMessage, StepRequest, ToolChoice, WireTool } from '../model/adapter.ts';
import type { BoundTool } from '../tools/binding.ts';
import type { WireForm } from '../tools/placeholder-tools.ts';
import { pairMessages } from './pairing.ts';
import { READ_ARTIFACT } from './read-artifact.ts';
import { countByChars, type PayloadSize, sizeOfPayload } from './token-estimate.ts';
import type { TurnScope } from './turn-scope.ts';

/** A request ready to be sent, with the frozen view of tools it was built under. */
export interface ProjectedRequest {
  readonly request: StepRequest;
  readonly visible: readonly BoundTool[];
  readonly toolsHash: string;
  readonly schemaChars: number;
  readonly size: PayloadSize;
  readonly fingerprint: RecordData<'request.prepared'>;
}

/** What goes into a request beside the turn's own plan. */
export interface ProjectionInput {
  readonly system: string;
  readonly messages: readonly PromptMessage[];
  readonly visible: readonly BoundTool[];
  /** What the request carries of each of them, in the same order. */
  readonly wire: readonly WireForm[];
  readonly toolChoice: ToolChoice;
}

/** Builds the request of one step. Pure but for hashing; the last pass makes every call answered. */
export function projectRequest(scope: TurnScope, input: ProjectionInput): ProjectedRequest {
  const { settings, output } = scope.plan;
  const schema = output?.mode === 'native' ? { responseSchema: output.contract.responseSchema } : {};
  const tools = input.wire.map((form) => form.definition);
  const messages = pairMessages(input.messages);
  const request: StepRequest = {
    ...(input.system === '' ? {} : { system: input.system }),
    messages,
    tools,
    ...(scope.plan.model.capabilities.cacheBreakpoints === true ? { stableTools: countStable(scope) } : {}),
    toolChoice: input.toolChoice,
    settings,
    ...schema,
  };
  const toolsHash = sha256(input.wire.map((form) => form.schemaHash).join('\n'));
  const text = JSON.stringify([input.system, messages, input.toolChoice, settings, schema.responseSchema]);
  const schemaChars = input.wire.reduce((sum, form) => sum + form.schemaChars, 0);
  const size = sizeOfPayload(
    messages,
    [input.system, ...tools.map(definitionText), JSON.stringify(schema)],
    scope.plan.model.countTokens ?? countByChars,
  );
  return {
    request,
    visible: input.visible,
    toolsHash,
    schemaChars,
    size,
    fingerprint: {
      sha256: sha256(`${toolsHash}\n${text}`),
      chars: size.chars,
      tokens: size.tokens,
      messages: messages.length,
      systemHash: sha256(input.system),
      toolsHash,
      toolChoice: input.toolChoice.type === 'tool' ? input.toolChoice.toolName : input.toolChoice.type,
    },
  };
}

/** Direct tools and those that find others come first, and are in every request of the turn. */
function countStable({ plan, tools: { standing } }: TurnScope): number {
  const submit = plan.output?.contract.submit.name;
  const later = standing.findIndex(({ name }) => name === READ_ARTIFACT || name === submit);
  return later === -1 ? standing.length : later;
}

/** Definitions are frozen and used again in every request. */
const TEXTS = new WeakMap<WireTool, string>();

function definitionText(tool: WireTool): string {
  const known = TEXTS.get(tool) ?? JSON.stringify(tool);
  TEXTS.set(tool, known);
  return known;
}

function sha256(text: string): string {
  return hash('sha256', text);
}
