import type { JsonObject } from '../ledger/content.ts';
import { DEFAULT_LIMITS, type Limits } from '../limits.ts';
import { coerceArguments } from './argument-coercion.ts';
import { pathText } from './argument-issues.ts';
import { snapshotArguments } from './argument-snapshot.ts';
import type { BoundTool, Validation } from './binding.ts';
import { findJsonFault, isOpenJson } from './json-fault.ts';
import { describeFields } from './json-schema.ts';

/** Options of {@link climbLadder}. */
export interface LadderOptions {
  /** The answer stopped at its length limit, or its step failed: the arguments may have been cut. */
  readonly open: boolean;
  /** Opt-in repair of text that is complete and no JSON; gives JSON, or undefined where it cannot. */
  readonly repairText?: ((text: string) => string | undefined) | undefined;
  readonly limits?: Limits['arguments'];
}

/** What became of the arguments a model wrote. `repaired` names what was done to them, in order. */
export type LadderOutcome =
  | {
      readonly type: 'ok';
      /** What ledger, hash and permission see. Deep-frozen; no default is filled in. */
      readonly args: JsonObject;
      readonly repaired: readonly string[];
    }
  | {
      readonly type: 'invalid';
      /** The object the model sent, or an empty one where it sent none. Deep-frozen. */
      readonly kept: JsonObject;
      /** For the model: names fields and positions, never a value. */
      readonly message: string;
      readonly repaired: readonly string[];
    };

const EMPTY: JsonObject = Object.freeze({});

/**
 * Makes arguments of the text a model wrote, in this order: blank is an empty object; JSON; a string that holds an
 * object is unwrapped once; the object is checked against the schema of `bound`, and where it fails strings become the
 * numbers, booleans, arrays or objects the schema unambiguously asks for, and an object that holds nothing but
 * `arguments` is taken for what that holds; complete text that is no JSON goes through
 * `repairText`, if there is one. What may have been cut is never repaired. Without `bound` nothing is checked against
 * a schema. Never rejects.
 */
export async function climbLadder(
  input: string,
  bound: BoundTool | undefined,
  options: LadderOptions,
): Promise<LadderOutcome> {
  const limits = options.limits ?? DEFAULT_LIMITS.arguments;
  const repaired: string[] = [];
  const reject = (why: string, kept: JsonObject = EMPTY): LadderOutcome => ({
    type: 'invalid',
    kept,
    message: rejectionText(bound, why),
    repaired,
  });
  if (Buffer.byteLength(input) > limits.maxBytes)
    return reject(`the arguments are over ${limits.maxBytes} bytes.`);
  const read = readText(input, options);
  if (read.type === 'fault') return reject(withFields(read.why, bound));
  repaired.push(...read.repaired);
  const snapshot = snapshotArguments(read.value, limits);
  if (snapshot.type === 'rejected') return reject(withFields(`${snapshot.reason}.`, bound));
  if (bound === undefined) return { type: 'ok', args: snapshot.args, repaired };
  const validation = await bound.validate(snapshot.args);
  if (validation.type === 'valid') return { type: 'ok', args: snapshot.args, repaired };
  if (options.open || bound.exactArguments === true) return reject(validation.message, snapshot.args);
  const mended = await mend(bound, snapshot.args, validation, limits);
  if (mended.type === 'invalid') return reject(mended.message, snapshot.args);
  return { type: 'ok', args: mended.args, repaired: [...repaired, ...mended.repaired] };
}

type Mended =
  | { readonly type: 'valid'; readonly args: JsonObject; readonly repaired: readonly string[] }
  | { readonly type: 'invalid'; readonly message: string };

type Invalid = Extract<Validation, { readonly type: 'invalid' }>;

/** Tries what can be told from the schema alone; what the arguments themselves break is what a failure says. */
async function mend(
  bound: BoundTool,
  args: JsonObject,
  found: Invalid,
  limits: Limits['arguments'],
): Promise<Mended> {
  const coerced = await coerce(bound, args, found, limits);
  if (coerced.type === 'valid') return coerced;
  const inner = soleArguments(args, limits);
  if (inner === undefined) return coerced;
  const validation = await bound.validate(inner);
  const unwrapped: Mended =
    validation.type === 'valid'
      ? { type: 'valid', args: inner, repaired: [] }
      : await coerce(bound, inner, validation, limits);
  if (unwrapped.type === 'invalid') return coerced;
  return { ...unwrapped, repaired: ['unwrapped arguments', ...unwrapped.repaired] };
}

async function coerce(
  bound: BoundTool,
  args: JsonObject,
  found: Invalid,
  limits: Limits['arguments'],
): Promise<Mended> {
  const coercion = coerceArguments(args, bound.definition.inputSchema, found.paths);
  const coerced = coercion.changed.length === 0 ? undefined : snapshotArguments(coercion.args, limits);
  if (coerced?.type !== 'ok') return { type: 'invalid', message: found.message };
  const again = await bound.validate(coerced.args);
  if (again.type === 'invalid') return { type: 'invalid', message: again.message };
  const repaired = coercion.changed.map((path) => `coerced ${pathText(path)}`);
  return { type: 'valid', args: coerced.args, repaired };
}

/** What an object holds under `arguments`, where it holds nothing else: some models wrap what they mean. */
function soleArguments(args: JsonObject, limits: Limits['arguments']): JsonObject | undefined {
  const keys = Object.keys(args);
  if (keys.length !== 1 || keys[0] !== 'arguments') return undefined;
  const written = args['arguments'];
  const value: unknown =
    typeof written === 'string' && findJsonFault(written) === undefined ? JSON.parse(written) : written;
  const inner = snapshotArguments(value, limits);
  return inner.type === 'ok' ? inner.args : undefined;
}

type Read =
  | { readonly type: 'value'; readonly value: unknown; readonly repaired: readonly string[] }
  | { readonly type: 'fault'; readonly why: string };

function readText(input: string, options: LadderOptions): Read {
  if (input.trim() === '') {
    return options.open
      ? { type: 'fault', why: 'the arguments were cut off before they began.' }
      : { type: 'value', value: {}, repaired: ['blank'] };
  }
  const fault = findJsonFault(input);
  if (fault === undefined) return unwrapped(JSON.parse(input), []);
  const mayRepair = options.repairText !== undefined && !options.open && !isOpenJson(input);
  const repairedText = mayRepair ? tryRepair(input, options.repairText) : undefined;
  if (repairedText !== undefined && findJsonFault(repairedText) === undefined) {
    return unwrapped(JSON.parse(repairedText), ['text']);
  }
  const cut = options.open || isOpenJson(input) ? ' They end too early and may have been cut off.' : '';
  return {
    type: 'fault',
    why: `the arguments are not JSON: at ${positionText(input, fault.offset)} ${fault.expected} is expected.${cut}`,
  };
}

/** Some providers encode the object twice. */
function unwrapped(value: unknown, repaired: readonly string[]): Read {
  if (typeof value !== 'string') return { type: 'value', value, repaired };
  if (findJsonFault(value) === undefined) {
    const inner: unknown = JSON.parse(value);
    if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) {
      return { type: 'value', value: inner, repaired: [...repaired, 'unwrapped'] };
    }
  }
  return { type: 'fault', why: 'the arguments are a text, not a JSON object.' };
}

function tryRepair(text: string, repair: LadderOptions['repairText']): string | undefined {
  try {
    const repaired: unknown = repair?.(text);
    return typeof repaired === 'string' ? repaired : undefined;
  } catch {
    // A repair that gives up leaves the text as unusable as it was.
    return undefined;
  }
}

function positionText(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  return before.length === 1 ? `character ${column}` : `line ${before.length}, character ${column}`;
}

function rejectionText(bound: BoundTool | undefined, why: string): string {
  const name = bound === undefined ? 'this call' : bound.definition.name;
  return `Invalid arguments, ${name} did not run: ${why}`;
}

function withFields(why: string, bound: BoundTool | undefined): string {
  const fields = bound === undefined ? undefined : describeFields(bound.tool.inputSchema, bound.name);
  return fields === undefined ? why : `${why} ${fields}`;
}
