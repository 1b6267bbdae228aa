import { hash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { CallFacts } from '../ledger/turn-facts.ts';
import type { BoundTool } from './binding.ts';
import type { Catalogue } from './catalogue.ts';
import type { Refusal } from './refusals.ts';
import { safeName } from './safe-text.ts';
import type { Availability } from './step-view.ts';
import { signatureText } from './tool-signature.ts';

/** Stable code of a call whose arguments go on missing the schema in the same way. */
export const SCHEMA_INCOMPATIBLE = 'tool.deferred_schema_incompatible';

/** Identical shapes in a row that make it so. */
const MAX_SAME_SHAPES = 3;

/**
 * Judges calls to deferred tools by the shape of their arguments, where the policy does not simply reject them. One
 * per turn: it counts how often in a row the arguments for one tool were wrong in the same way.
 */
export interface ShapeGate {
  /** Why the call may not run, or undefined where it is not for this gate to say. Synchronous; counts the call. */
  judge(call: CallFacts, bound: BoundTool, availability: Availability): Refusal | undefined;
  /** Counts a call that an earlier process judged. */
  restore(call: CallFacts): void;
}

export function createShapeGate(catalogue: Catalogue, maxSignatureChars: number): ShapeGate {
  const { policy } = catalogue;
  const streaks = new Map<string, { readonly shape: string; readonly count: number }>();
  const isJudged = (name: string) => policy.hiddenCall !== 'reject' && catalogue.isDeferred(name);
  const count = (call: CallFacts): number => {
    const { toolName, invalid } = call.called.data;
    if (invalid === undefined) {
      streaks.delete(toolName);
      return 0;
    }
    const shape = shapeOf(call.args);
    const last = streaks.get(toolName);
    const repeats = last?.shape === shape ? last.count + 1 : 1;
    streaks.set(toolName, { shape, count: repeats });
    return repeats;
  };
  return {
    judge(call, bound, availability) {
      if (!isJudged(bound.name)) return undefined;
      const repeats = count(call);
      const isTaught = availability === 'callable';
      if (repeats === 0 && (isTaught || policy.hiddenCall === 'shape-gated')) return undefined;
      const signature = signatureText(bound, maxSignatureChars);
      const { invalid } = call.called.data;
      const text = isTaught
        ? taughtText(invalid, policy.carrier === 'result' ? signature : undefined)
        : lessonText(bound, invalid, signature);
      const refusal: Refusal = isTaught
        ? { code: 'invalid-arguments', text }
        : { code: 'needs-schema', text, teaches: [bound.name] };
      return repeats < MAX_SAME_SHAPES ? refusal : withoutProgress(refusal, repeats);
    },
    restore(call) {
      if (isJudged(call.called.data.toolName)) count(call);
    },
  };
}

function lessonText(bound: BoundTool, invalid: string | undefined, signature: string | undefined): string {
  const name = safeName(bound.name);
  const why = invalid ?? `${name} did not run: its parameters had not been shown when the call was written.`;
  const shown =
    signature === undefined
      ? 'They are too large to show here: find them among your tools from your next message on.'
      : `They are: ${signature}`;
  return `${why}\nThe parameters of ${name} were not known to you. ${shown}\nSend the call again in a later step, with arguments that fit.`;
}

function taughtText(invalid: string | undefined, signature: string | undefined): string {
  return signature === undefined ? (invalid ?? '') : `${invalid ?? ''}\nIts parameters are: ${signature}`;
}

function withoutProgress(refusal: Refusal, repeats: number): Refusal {
  return {
    ...refusal,
    text: `${refusal.text}\n[${SCHEMA_INCOMPATIBLE}] Arguments of the same shape have failed ${repeats} times in a row. Do not send them again: change them, or take another way.`,
    details: { noProgress: { code: SCHEMA_INCOMPATIBLE, repeats } },
  };
}

/** Levels of a shape that are looked at. */
const MAX_SHAPE_DEPTH = 12;

/** Fields and types of arguments, whatever their values and the order of their keys. Hashed: it may be long. */
function shapeOf(args: JsonObject): string {
  return hash('sha256', describe(args, 0));
}

function describe(value: JsonValue, depth: number): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  if (depth >= MAX_SHAPE_DEPTH) return '…';
  if (isList(value)) return `[${[...new Set(value.map((item) => describe(item, depth + 1)))].sort().join()}]`;
  const fields = Object.keys(value).sort();
  return `{${fields.map((key) => `${JSON.stringify(key)}:${describe(value[key] ?? null, depth + 1)}`).join()}}`;
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
