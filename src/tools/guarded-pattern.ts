import { type Context, createContext, Script } from 'node:vm';

/** A compiled pattern as ajv uses it. */
export interface GuardedPattern {
  test(text: string): boolean;
}

/** Time a pattern that may backtrack without end is given. */
const MAX_MATCH_MS = 50;
/** Texts up to this length cost little with any pattern that repeats no repetition. */
const MAX_PLAIN_CHARS = 1_000;

/** A repeated group that itself repeats or chooses, or a back reference: what exponential matching needs. */
const SUSPECT = /\((?:[^()\\]|\\.)*[*+|}](?:[^()\\]|\\.)*\)[*+{?]|\)\)[*+{]|\\[1-9]|\\k</;

/**
 * A pattern out of a schema that somebody else wrote, safe to run on text that a model wrote: a match that could
 * backtrack without end is stopped after 50 ms and counts as no match. A pattern JavaScript cannot read matches
 * everything: it is the tool's own business to check further.
 */
export function guardedPattern(source: string, flags: string): GuardedPattern {
  const pattern = compile(source, flags) ?? compile(source, '');
  if (pattern === undefined) return { test: () => true };
  const isSuspect = SUSPECT.test(source);
  return {
    test: (text) =>
      isSuspect || text.length > MAX_PLAIN_CHARS ? testWithin(pattern, text) : pattern.test(text),
  };
}

function compile(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    // Patterns of other dialects are not JavaScript.
    return undefined;
  }
}

const script = new Script('pattern.test(text)');
let sandbox: (Context & { pattern?: RegExp; text?: string }) | undefined;

function testWithin(pattern: RegExp, text: string): boolean {
  sandbox ??= createContext({});
  sandbox.pattern = pattern;
  sandbox.text = text;
  try {
    return script.runInContext(sandbox, { timeout: MAX_MATCH_MS }) === true;
  } catch {
    // The only thing that can be thrown is the end of the time.
    return false;
  } finally {
    delete sandbox.pattern;
    delete sandbox.text;
  }
}
