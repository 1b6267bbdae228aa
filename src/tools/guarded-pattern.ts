import { type Context, createContext, Script } from 'node:vm';

/** A compiled pattern as a schema validator uses it. */
interface GuardedPattern {
  test(text: string): boolean;
}

/** Compiles the patterns of one schema and bounds what a validation may spend on them. */
export interface PatternGuard {
  compile(source: string, flags: string): GuardedPattern;
  /** Starts a validation: its patterns have the whole budget again. */
  reset(): void;
}

/** Time one match may take, and all matches of a validation together: much, as a busy machine makes honest ones slow. */
const MAX_MATCH_MS = 250;
const MAX_TOTAL_MS = 2_000;
/** Texts up to these lengths cost little: the first with any pattern, the second with one that repeats one thing only. */
const MAX_SUSPECT_CHARS = 12;
const MAX_PLAIN_CHARS = 1_000;

/**
 * Makes patterns out of a schema that somebody else wrote safe to run on text that a model wrote. What could backtrack
 * without end is stopped in time and counts as no match, so the text is refused. A pattern JavaScript cannot read
 * matches everything: its tool has to check further itself.
 */
export function createPatternGuard(): PatternGuard {
  let leftMs = MAX_TOTAL_MS;
  const testWithin = (pattern: RegExp, text: string) => {
    if (leftMs < 1) return false;
    const startedMs = performance.now();
    const matches = interruptibleTest(pattern, text, Math.ceil(Math.min(MAX_MATCH_MS, leftMs)));
    leftMs -= performance.now() - startedMs;
    return matches;
  };
  return {
    reset() {
      leftMs = MAX_TOTAL_MS;
    },
    compile(source, flags) {
      const pattern = compile(source, flags) ?? compile(source, '');
      if (pattern === undefined) return { test: () => true };
      const plainChars = mayBacktrack(source) ? MAX_SUSPECT_CHARS : MAX_PLAIN_CHARS;
      return {
        test: (text) => (text.length > plainChars ? testWithin(pattern, text) : pattern.test(text)),
      };
    },
  };
}

/** Two repetitions can feed each other, so can one and a choice, and a back reference can repeat anything. */
function mayBacktrack(source: string): boolean {
  if (/\\(?:[1-9]|k<)/.test(source)) return true;
  const structure = source.replace(/\\./gs, 'x').replace(/\[[^\]]*\]/g, 'x');
  const repetitions = structure.match(/[*+{]/g)?.length ?? 0;
  return repetitions > 1 || (repetitions === 1 && structure.includes('|'));
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

/** The engine checks for interrupts while it backtracks; a timeout of `vm` is the one way to send one. */
function interruptibleTest(pattern: RegExp, text: string, timeoutMs: number): boolean {
  sandbox ??= createContext({});
  sandbox.pattern = pattern;
  sandbox.text = text;
  try {
    return script.runInContext(sandbox, { timeout: timeoutMs }) === true;
  } catch {
    // The only thing that can be thrown is the end of the time.
    return false;
  } finally {
    delete sandbox.pattern;
    delete sandbox.text;
  }
}
