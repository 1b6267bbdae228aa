import { isDeepStrictEqual } from 'node:util';
import type { GateHookName } from '../../machines/hooks.ts';
import type { Clock } from '../clock.ts';
import { type CallEnd, callWithin } from './deadline.ts';
import { declaredFor } from './declared-hooks.ts';
import { GATE_CHANGES, type GateSubjects } from './gate-subjects.ts';
import type { HookCounter } from './hook-stats.ts';
import type { Gate, GateRefusalCause, GateResult, GateRunner, Hooks } from './hooks.ts';

/** What gates are run with. */
export interface GateRunnerOptions {
  readonly clock: Clock;
  /** `limits.timeouts.gateMs` */
  readonly timeoutMs: number;
  readonly counter: HookCounter;
}

/** What one gate came to: the subject to go on with, or why not. */
type Verdict<S> =
  | { readonly type: 'go-on'; readonly subject: S }
  | {
      readonly type: 'no';
      readonly cause: GateRefusalCause;
      readonly reason: string;
      readonly error?: unknown;
    };

/** The gates of a list of hooks, in its order. */
export function createGateRunner(list: readonly Hooks[], options: GateRunnerOptions): GateRunner {
  return {
    has: (name) => list.some((hooks) => hooks[name] !== undefined),
    async run(name, subject, signal) {
      const { clock, timeoutMs, counter } = options;
      let current = subject;
      for (const { by, call } of declaredFor(list, name)) {
        counter.fired(name);
        // The gate of a point takes the subject of that point; the compiler does not follow the index.
        const gate = call as unknown as Gate<typeof subject>;
        const seen = frozenCopy(current);
        const end = await callWithin({ clock, timeoutMs, signal }, (own) => gate(seen, { signal: own }));
        const verdict = judge(name, end, { current, seen });
        if (verdict.type === 'no') {
          if (verdict.cause === 'late') counter.hung(name, by);
          else if (verdict.cause !== 'refused' && verdict.cause !== 'stopped') {
            counter.failed(name, by, verdict.error);
          }
          return { type: 'refuse', reason: verdict.reason, by, cause: verdict.cause };
        }
        current = verdict.subject;
      }
      return { type: 'allow', subject: current } satisfies GateResult<typeof subject>;
    },
  };
}

/** A subject, and the frozen copy of it that a gate saw. */
interface Shown<S> {
  readonly current: S;
  readonly seen: S;
}

/** Only nothing at all lets pass: any other answer that is none is a defect of the gate, and refuses. */
function judge<N extends GateHookName>(
  name: N,
  end: CallEnd,
  shown: Shown<GateSubjects[N]>,
): Verdict<GateSubjects[N]> {
  switch (end.type) {
    case 'stopped':
      return { type: 'no', cause: 'stopped', reason: 'The work was stopped.' };
    case 'late':
      return { type: 'no', cause: 'late', reason: 'A gate did not answer in time.' };
    case 'threw':
      return { type: 'no', cause: 'threw', reason: 'A gate failed.', error: end.error };
    case 'returned':
      break;
  }
  const answer = end.value;
  if (answer === undefined) return { type: 'go-on', subject: shown.current };
  if (typeof answer === 'object' && answer !== null) {
    if ('refuse' in answer && typeof answer.refuse === 'string') {
      return { type: 'no', cause: 'refused', reason: answer.refuse };
    }
    if ('replace' in answer && typeof answer.replace === 'object' && answer.replace !== null) {
      return replaced(name, answer.replace, shown);
    }
  }
  return {
    type: 'no',
    cause: 'threw',
    reason: 'A gate failed.',
    error: `no answer of a gate: ${typeof answer}`,
  };
}

/** The subject with the changes a gate may make. Any other change refuses, rather than being dropped silently. */
function replaced<N extends GateHookName>(
  name: N,
  replacement: object,
  { current, seen }: Shown<GateSubjects[N]>,
): Verdict<GateSubjects[N]> {
  const allowed: readonly string[] = GATE_CHANGES[name];
  const before = new Map<string, unknown>(Object.entries(seen));
  const changes: [string, unknown][] = [];
  try {
    for (const [field, value] of Object.entries(replacement)) {
      if (isDeepStrictEqual(value, before.get(field))) continue;
      if (!allowed.includes(field)) {
        const reason = `A gate changed ${field}, which is fixed.`;
        return { type: 'no', cause: 'forbidden-change', reason, error: reason };
      }
      changes.push([field, frozenCopy(value)]);
    }
  } catch (error) {
    return { type: 'no', cause: 'threw', reason: 'A gate failed.', error };
  }
  if (changes.length === 0) return { type: 'go-on', subject: current };
  // The changed fields are those the subject has; that their values fit is checked by whoever takes them.
  return { type: 'go-on', subject: { ...current, ...Object.fromEntries(changes) } as GateSubjects[N] };
}

/** A deep copy of plain data, frozen throughout; anything else is passed as it is. */
function frozenCopy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  // Each branch rebuilds what it was given, so the type stays.
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, frozenCopy(one)]));
  return Object.freeze(copy) as T;
}
