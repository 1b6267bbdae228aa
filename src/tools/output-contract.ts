import { z } from 'zod';
import { isSwarmError, SwarmError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import { issuesOfZod, issuesText } from './argument-issues.ts';
import { bindTools } from './bind-tools.ts';
import type { BoundTool } from './binding.ts';
import { defineTool } from './define-tool.ts';
import type { InputSchema } from './tool.ts';

/** Name of the tool through which an output is handed in where a provider cannot be held to a schema. */
export const SUBMIT_OUTPUT = 'submit_output';

/** What an agent's turns must yield, in the forms they are asked for it. Made once for each definition. */
export interface OutputContract {
  /** What a provider is held to: its root is an object. */
  readonly responseSchema: JsonObject;
  /** The tool that takes the output and ends the turn. */
  readonly submit: BoundTool;
  /** Checks what a model gave, as it gave it. */
  read(given: JsonValue): Promise<OutputReading>;
}

/** What a model gave, checked. */
export type OutputReading =
  /** `value` is parsed and defaulted, `json` what it was parsed from. */
  | { readonly type: 'valid'; readonly value: unknown; readonly json: JsonValue }
  /** Names fields and what is wrong with them, never a value. */
  | { readonly type: 'invalid'; readonly message: string };

const DESCRIPTION =
  'Hands in the final output. Call it once, when everything else is done: its arguments are the output, and it ends the work.';
const TAKEN = 'The output was taken.';
/** Field that holds an output which is no object itself: what providers take has an object at its root. */
const WRAPPED = 'output';

/**
 * Makes the contract of `schema`. One whose root is no object is asked for as the field `output` of one.
 * @throws SwarmError 'unusable-schema' where no provider could be told of it
 */
export function outputContract(schema: z.ZodType): OutputContract {
  const plain = submitTool(schema);
  const submit = plain ?? submitTool(z.object({ [WRAPPED]: schema }));
  if (submit === undefined) {
    throw new SwarmError('unusable-schema', 'the output schema cannot be written for a provider');
  }
  const isWrapped = plain === undefined;
  return Object.freeze({
    responseSchema: submit.definition.inputSchema,
    submit,
    read: (given: JsonValue) => readOutput(schema, isWrapped ? unwrapped(given) : given),
  });
}

function submitTool(inputSchema: InputSchema): BoundTool | undefined {
  const tool = defineTool({
    name: SUBMIT_OUTPUT,
    description: DESCRIPTION,
    inputSchema,
    recovery: 'replay_safe',
    execute: () => ({ endTurn: true as const, output: TAKEN }),
  });
  try {
    const [bound] = bindTools([tool]).tools;
    return bound === undefined ? undefined : Object.freeze({ ...bound, runtimeOwned: true as const });
  } catch (error) {
    if (isSwarmError(error, 'unusable-schema')) return undefined;
    throw error;
  }
}

function unwrapped(given: JsonValue): JsonValue {
  const isWrapper =
    typeof given === 'object' && given !== null && !Array.isArray(given) && Object.hasOwn(given, WRAPPED);
  // The check above makes it an object with the field.
  return isWrapper ? ((given as JsonObject)[WRAPPED] ?? null) : given;
}

async function readOutput(schema: z.ZodType, json: JsonValue): Promise<OutputReading> {
  try {
    // A schema may change what it is given; the record keeps what the model said.
    const parsed = await schema.safeParseAsync(structuredClone(json));
    if (parsed.success) return { type: 'valid', value: parsed.data, json };
    return { type: 'invalid', message: issuesText(issuesOfZod(parsed.error.issues, { [WRAPPED]: json })) };
  } catch {
    // A refinement or transformation threw; what it threw may quote the output.
    return { type: 'invalid', message: 'the schema of the output failed on it' };
  }
}

/** The JSON value of an answer's text, which models like to fence; `undefined` where it is none. */
export function jsonOfAnswer(text: string): JsonValue | undefined {
  const fenced = /^\s*```[a-z]*\n(.*?)\n?```\s*$/su.exec(text);
  try {
    // What was parsed from JSON is JSON.
    return JSON.parse(fenced?.[1] ?? text) as JsonValue;
  } catch {
    // No JSON is an answer like any other.
    return undefined;
  }
}
