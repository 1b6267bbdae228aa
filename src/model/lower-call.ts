import type { ModelSettings, StepRequest, WireTool } from './adapter.ts';
import type { CallOptions, FunctionTool, ProviderMetadata, ReasoningEffort } from './language-model.ts';
import { lowerPrompt, type PromptPolicy, withBreakpoint } from './lower-prompt.ts';

/** What one provider makes of settings that have no common word. */
export interface LoweredSettings {
  readonly reasoning?: ReasoningEffort;
  readonly providerOptions?: ProviderMetadata;
  readonly warnings: readonly string[];
}

/** How requests of one model are written. */
export interface CallPolicy extends PromptPolicy {
  /** Answers can be held to a JSON Schema. */
  readonly structuredOutput: boolean;
  /** Most tokens an answer may have; a request that allows more is held to it. */
  readonly maxOutputTokens?: number;
  readonly lowerSettings: (settings: ModelSettings, hasTools: boolean) => LoweredSettings;
}

/** A request as the provider package takes it, and what is worth a warning about it. */
export interface LoweredCall {
  readonly options: CallOptions;
  readonly warnings: readonly string[];
}

/** Writes `request` for one model. Tools carry nothing to execute; without tools nothing is said of them. */
export function lowerCall(request: StepRequest, policy: CallPolicy): LoweredCall {
  const { settings, tools } = request;
  const special = policy.lowerSettings(settings, tools.length > 0);
  const warnings = [...special.warnings];
  const options: CallOptions = {
    prompt: lowerPrompt(request, policy),
    ...samplingOf(settings, policy),
    ...(special.reasoning !== undefined && { reasoning: special.reasoning }),
    ...(special.providerOptions !== undefined && { providerOptions: special.providerOptions }),
    includeRawChunks: false,
  };
  if (tools.length > 0) {
    options.tools = lowerTools(request, policy);
    options.toolChoice = request.toolChoice;
  }
  if (request.responseSchema !== undefined) {
    if (policy.structuredOutput) {
      options.responseFormat = { type: 'json', schema: request.responseSchema, name: 'response' };
    } else {
      warnings.push('the model takes no response schema; none was sent');
    }
  }
  return { options, warnings };
}

function lowerTools(
  { tools, stableTools = 0 }: StepRequest,
  { cacheBreakpoints }: CallPolicy,
): FunctionTool[] {
  const lowered = tools.map(lowerTool);
  const last = lowered[stableTools - 1];
  if (cacheBreakpoints === undefined || last === undefined) return lowered;
  return lowered.with(stableTools - 1, withBreakpoint(last, cacheBreakpoints));
}

/** Definitions are frozen and reused, so a tool is lowered once and keeps its bytes. */
const lowered = new WeakMap<WireTool, FunctionTool>();

function lowerTool(tool: WireTool): FunctionTool {
  const known = lowered.get(tool);
  if (known !== undefined) return known;
  const { name, description, inputSchema } = tool;
  const made: FunctionTool = { type: 'function', name, description, inputSchema };
  lowered.set(tool, made);
  return made;
}

function samplingOf(settings: ModelSettings, policy: CallPolicy): Partial<CallOptions> {
  const { temperature, topP, seed, stopSequences, presencePenalty, frequencyPenalty } = settings;
  const maxOutputTokens = outputLimit(settings, policy);
  return {
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(seed !== undefined && { seed }),
    ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }),
    ...(presencePenalty !== undefined && { presencePenalty }),
    ...(frequencyPenalty !== undefined && { frequencyPenalty }),
  };
}

/** Tokens an answer may have, if the request says so. */
export function outputLimit(settings: ModelSettings, policy: CallPolicy): number | undefined {
  const { maxOutputTokens } = settings;
  if (maxOutputTokens === undefined) return undefined;
  return Math.min(maxOutputTokens, policy.maxOutputTokens ?? maxOutputTokens);
}
