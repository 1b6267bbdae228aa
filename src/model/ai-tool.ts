import { asSchema } from 'ai';
import { SwarmError } from '../errors.ts';
import type { JsonObject, ToolOutput } from '../ledger/content.ts';
import { liftToolOutput } from './ai-tool-output.ts';
import { isRecord, toJsonObject } from './provider-json.ts';

/** A tool of the AI SDK, seen from outside: what `tool()` and `dynamicTool()` return, also inside the tools of a client. */
export interface AiTool {
  readonly inputSchema: unknown;
}

/** What a tool of the AI SDK is told of its call. */
export interface AiCall {
  readonly callId: string;
  readonly context: unknown;
  readonly signal?: AbortSignal;
}

/** A value that passed the schema of a tool, or not. */
export type ParsedInput = { readonly type: 'valid'; readonly value: unknown } | { readonly type: 'invalid' };

/** A tool of the AI SDK in plain terms. */
export interface LiftedAiTool {
  readonly description: string | undefined;
  /** A zod 4 schema as it is; of any other, its JSON Schema. */
  readonly inputSchema: unknown;
  /** A zod 4 schema. */
  readonly outputSchema: unknown;
  /** The tool asks to be found by search. */
  readonly isDeferred: boolean;
  /** The schema's own check of what a model sent; may change the value. */
  parse(input: unknown): Promise<ParsedInput>;
  /** Whether who checks against `inputSchema` has the value that `parse` gives. */
  readonly isParsed: boolean;
  /** Runs the tool: values it yields before the last one go to `onPreliminary`. Rejects with what the tool throws. */
  execute(input: unknown, call: AiCall, onPreliminary: (value: unknown) => void): Promise<unknown>;
  readonly needsApproval: boolean | ((input: unknown, call: AiCall) => Promise<boolean>);
  readonly toModelOutput:
    | ((output: unknown, input: unknown, call: AiCall) => Promise<ToolOutput>)
    | undefined;
}

/**
 * Reads a tool of the AI SDK. @throws SwarmError 'invalid-definition' for one that only its provider can execute, that
 * has no `execute`, or whose description is made for each call; 'unusable-schema' for a schema without a JSON Schema.
 */
export function liftAiTool(name: string, tool: unknown): LiftedAiTool {
  if (!isRecord(tool) || !('inputSchema' in tool)) throw invalid(name, 'this is not a tool of the AI SDK');
  if (tool['type'] === 'provider')
    throw invalid(name, 'its provider defines it and is the only one to know it');
  const { execute, description, toModelOutput, needsApproval } = tool;
  if (!isFunction(execute)) throw invalid(name, 'it has no execute, so nothing here can run it');
  if (isFunction(description)) {
    throw invalid(name, 'its description is made anew for each request; give one that stays as an option');
  }
  const schema = readSchema(name, tool['inputSchema']);
  const checkContext = contextCheck(name, tool['contextSchema']);
  return {
    description: typeof description === 'string' ? description : undefined,
    inputSchema: schema.inputSchema,
    outputSchema: isZod4(tool['outputSchema']) ? tool['outputSchema'] : undefined,
    isDeferred: tool['deferLoading'] === true,
    parse: schema.parse,
    isParsed: schema.isParsed,
    async execute(input, call, onPreliminary) {
      await checkContext(call.context);
      return lastOf(execute.call(tool, input, optionsOf(call)), onPreliminary, call.signal);
    },
    needsApproval: isFunction(needsApproval)
      ? async (input, call) => (await needsApproval.call(tool, input, optionsOf(call))) !== false
      : needsApproval === true,
    toModelOutput: isFunction(toModelOutput)
      ? async (output, input, { callId }) =>
          liftToolOutput(await toModelOutput.call(tool, { toolCallId: callId, input, output }))
      : undefined,
  };
}

/** The conversation stays with the runtime: a tool gets what it was called with, and no message. */
function optionsOf({ callId, context, signal }: AiCall) {
  return {
    toolCallId: callId,
    messages: [],
    context,
    ...(signal === undefined ? {} : { abortSignal: signal }),
  };
}

async function lastOf(
  returned: unknown,
  onPreliminary: (value: unknown) => void,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (!isAsyncIterable(returned)) return returned;
  let last: { readonly value: unknown } | undefined;
  for await (const value of returned) {
    signal?.throwIfAborted();
    if (last !== undefined) onPreliminary(last.value);
    last = { value };
  }
  return last?.value;
}

type Schema = Pick<LiftedAiTool, 'inputSchema' | 'parse' | 'isParsed'>;

function readSchema(name: string, given: unknown): Schema {
  const schema = sdkSchema(name, given);
  const parse = (value: unknown) => parseWith(schema, value);
  if (isZod4(given)) return { inputSchema: given, parse, isParsed: true };
  const json = jsonSchemaOf(name, schema);
  if (isRecord(json) && isFunction(json['then']))
    throw unusable(name, 'it comes later; give the schema itself');
  const plain: JsonObject | undefined = toJsonObject(json);
  if (plain === undefined) throw unusable(name, 'it is no JSON Schema');
  return { inputSchema: plain, parse, isParsed: false };
}

type SdkSchema = ReturnType<typeof asSchema>;

/** Converted at the first look, which is where a schema of a kind that has no JSON Schema fails. */
function jsonSchemaOf(name: string, schema: SdkSchema): unknown {
  try {
    return schema.jsonSchema;
  } catch (cause) {
    throw unusable(name, 'it has no JSON Schema', cause);
  }
}

function sdkSchema(name: string, given: unknown): SdkSchema {
  try {
    // Whether it is a schema is for the SDK to say.
    return asSchema(given as Parameters<typeof asSchema>[0]);
  } catch (cause) {
    throw unusable(name, 'the AI SDK cannot read it', cause);
  }
}

async function parseWith(schema: SdkSchema, value: unknown): Promise<ParsedInput> {
  if (schema.validate === undefined) return { type: 'valid', value };
  const result = await schema.validate(value);
  return result.success ? { type: 'valid', value: result.value } : { type: 'invalid' };
}

function contextCheck(name: string, given: unknown): (context: unknown) => Promise<void> {
  if (given === undefined) return async () => undefined;
  const schema = sdkSchema(name, given);
  return async (context) => {
    const parsed = await parseWith(schema, context);
    if (parsed.type === 'invalid')
      throw invalid(name, 'the context of the run is not what the tool asks for');
  };
}

/** A value of the SDK's own kinds carries its schema as a symbol or standard property; zod 4 carries `_zod`. */
function isZod4(value: unknown): boolean {
  return typeof value === 'object' && value !== null && '_zod' in value;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function isFunction(value: unknown): value is (...args: unknown[]) => unknown {
  return typeof value === 'function';
}

function invalid(name: string, why: string): SwarmError {
  return new SwarmError('invalid-definition', `tool ${name} of the AI SDK: ${why}`);
}

function unusable(name: string, why: string, cause?: unknown): SwarmError {
  return new SwarmError('unusable-schema', `the input schema of tool ${name} is unusable: ${why}`, { cause });
}
