import type { NewRecord } from '../ledger/records.ts';
import type { GateResult, GateSubjects } from '../lifecycle/hooks.ts';
import type { BoundTool } from './binding.ts';
import type { Catalogue } from './catalogue.ts';
import { safeText } from './safe-text.ts';

const MAX_NOTE_CHARS = 4_000;

/** Which call activates what. */
export interface ActivationRequest {
  readonly callId: string;
  readonly stepId: string;
  readonly names: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * An activation that may still come to nothing: it is seen by nobody until its facts are durable. Dropping it is the
 * rollback.
 */
export interface PreparedActivation {
  /** What the gate let through, in the order asked for. */
  readonly names: readonly string[];
  /** To be committed with the fact that brings the activation about; none where there are no names. */
  readonly facts: readonly NewRecord[];
  /** Takes the text for the model that goes with the result, to be asked for when nothing can stop the facts. */
  takeNote(): string | undefined;
  /** Called once the facts are durable: the names become active at the next step. */
  settled(): void;
}

/** The one way into the active set of a turn, whatever activates. */
export interface Activations {
  /** Asks the gate, and keeps of what it lets through the names that are deferred and live. Never rejects. */
  prepare(request: ActivationRequest): Promise<PreparedActivation>;
}

export interface ActivationParts {
  readonly turnId: string;
  readonly sessionId: string;
  readonly agentPath: readonly string[];
  readonly catalogue: Catalogue;
  live(name: string): BoundTool | undefined;
  gate(
    subject: GateSubjects['beforeActivation'],
    signal: AbortSignal,
  ): Promise<GateResult<GateSubjects['beforeActivation']>>;
  /** Names whose note was given before. */
  readonly noted: Iterable<string>;
  /** The names of a call are durable. */
  onDurable(callId: string, names: readonly string[]): void;
}

export function createActivations(parts: ActivationParts): Activations {
  const noted = new Set(parts.noted);
  const { catalogue } = parts;
  return {
    async prepare(request) {
      // The roster may change while the gate is asked.
      const names = (await passGate(parts, request)).filter((name) => parts.live(name) !== undefined);
      if (names.length === 0) return NOTHING;
      return {
        names,
        facts: [factOf(parts, request, names)],
        takeNote: () => noteFor(catalogue, names, noted),
        settled: () => parts.onDurable(request.callId, names),
      };
    },
  };
}

const NOTHING: PreparedActivation = {
  names: [],
  facts: [],
  takeNote: () => undefined,
  settled: () => undefined,
};

/** What the gate lets through; a refusal lets nothing through. */
async function passGate(
  parts: ActivationParts,
  { names, stepId, signal }: ActivationRequest,
): Promise<readonly string[]> {
  if (names.length === 0) return names;
  const { sessionId, agentPath, turnId } = parts;
  const result = await parts.gate({ sessionId, agentPath, turnId, stepId, names }, signal);
  if (result.type === 'refuse') return [];
  const allowed = new Set(result.subject.names);
  return names.filter((name) => allowed.has(name));
}

function factOf(
  { turnId, live }: ActivationParts,
  { stepId, callId }: ActivationRequest,
  names: readonly string[],
): NewRecord {
  const schemaChars = names.reduce((sum, name) => sum + (live(name)?.schemaChars ?? 0), 0);
  return {
    type: 'tools.activated',
    turn: turnId,
    step: stepId,
    call: callId,
    data: { names: [...names], schemaChars },
  };
}

/** The note of names that have had none; they have had it from then on. */
function noteFor({ policy }: Catalogue, names: readonly string[], noted: Set<string>): string | undefined {
  const { activationNote } = policy;
  const fresh = names.filter((name) => !noted.has(name));
  if (activationNote === undefined || fresh.length === 0) return undefined;
  for (const name of fresh) noted.add(name);
  try {
    const note = activationNote(Object.freeze(fresh));
    return note === undefined ? undefined : safeText(note, MAX_NOTE_CHARS);
  } catch {
    // The activation stands without its text.
    return undefined;
  }
}
