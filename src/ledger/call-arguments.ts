import { SwarmError } from '../errors.ts';
import type { JsonObject } from './content.ts';
import type { Ledger } from './ledger.ts';
import type { RecordOf } from './records.ts';
import type { CallFacts, TurnFacts } from './turn-facts.ts';

/**
 * Arguments of a recorded call, read back where they were too large for their record.
 * @throws SwarmError 'artifact-missing', 'artifact-corrupt', 'ledger-corrupt'
 */
export async function argumentsOf(
  called: RecordOf<'tool.called'>,
  ledger: Pick<Ledger, 'getArtifact'>,
): Promise<JsonObject> {
  const { args, argsRef } = called.data;
  if (argsRef === undefined) return args;
  const parsed: unknown = JSON.parse(Buffer.from(await ledger.getArtifact(argsRef)).toString('utf8'));
  // What was stored under this hash was a JSON object; the check is for a store that lies.
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as JsonObject;
  throw new SwarmError('ledger-corrupt', `stored arguments of ${called.call ?? 'a call'} are not an object`);
}

/** A turn whose calls carry their whole arguments. */
export async function withArguments(
  turn: TurnFacts,
  ledger: Pick<Ledger, 'getArtifact'>,
): Promise<TurnFacts> {
  if (![...turn.calls.values()].some((call) => call.called.data.argsRef !== undefined)) return turn;
  const calls = new Map<string, CallFacts>();
  for (const [id, call] of turn.calls)
    calls.set(id, { ...call, args: await argumentsOf(call.called, ledger) });
  return { ...turn, calls };
}
