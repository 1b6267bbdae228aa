import { withArguments } from '../ledger/call-arguments.ts';
import type { JsonValue } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RecordOf } from '../ledger/records.ts';
import type { TurnFacts } from '../ledger/turn-facts.ts';
import { jsonOfAnswer, type OutputContract, SUBMIT_OUTPUT } from '../tools/output-contract.ts';
import type { AnyAgent } from './define-agent.ts';
import type { TurnOutcome } from './turn-outcome.ts';

/** What a turn came to that ended before anybody here ran it, by its facts. */
export async function closedOutcome(
  turn: TurnFacts,
  { data }: RecordOf<'turn.closed'>,
  agent: AnyAgent,
  ledger: Ledger,
): Promise<TurnOutcome> {
  const text = lastText(turn);
  const counted = { steps: data.steps, toolCalls: data.toolCalls, text };
  const { handoff } = turn;
  switch (data.status) {
    case 'failed':
      return {
        type: 'failed',
        failure: data.error ?? { kind: 'machine-fault', message: 'the turn failed without a reason' },
        ...counted,
      };
    case 'cancelled':
    case 'interrupted':
      return { type: 'cancelled', reason: data.reason ?? data.status, ...counted };
    case 'handed-off': {
      const { to = data.reason ?? '', child: session = '', input = '' } = handoff?.data ?? {};
      return { type: 'handed-off', handoff: { to, session, input }, ...counted };
    }
    case 'completed':
    case 'yielded': {
      const { output: contract } = agent;
      const output = contract === undefined ? text : await readOutput(contract, data.output, turn, ledger);
      return { type: 'completed', output, stopReason: data.stopReason, ...counted };
    }
  }
}

function lastText(turn: TurnFacts): string {
  const message = turn.steps.findLast((step) => step.message !== undefined)?.message;
  return message?.data.content.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? '';
}

/** As it was parsed then; one that was too large for the record is in the facts of the step that brought it. */
async function readOutput(
  contract: OutputContract,
  recorded: JsonValue | undefined,
  turn: TurnFacts,
  ledger: Ledger,
): Promise<unknown> {
  const given = recorded ?? (await submitted(turn, ledger)) ?? jsonOfAnswer(lastText(turn));
  if (given === undefined) return undefined;
  const reading = await contract.read(given);
  // A newer schema may not fit: what was taken then stands.
  return reading.type === 'valid' ? reading.value : given;
}

async function submitted(turn: TurnFacts, ledger: Ledger): Promise<JsonValue | undefined> {
  const { calls } = await withArguments(turn, ledger);
  return [...calls.values()].findLast((call) => call.called.data.toolName === SUBMIT_OUTPUT)?.args;
}
