import type { ParsedMessage } from '../../src/testing/script.ts';
import type { ScriptedModel } from '../../src/testing/scripted-model.ts';

/** Texts of the tool results at the end of a request, in their order. */
export function lastResults(model: Pick<ScriptedModel, 'requests'>, ordinal: number): readonly string[] {
  const messages = model.requests[ordinal]?.messages ?? [];
  const from = messages.findLastIndex((message) => message.calls.length > 0);
  return messages.slice(from + 1).flatMap((message) => (message.role === 'tool' ? [message.text] : []));
}

/** The ids of all calls of a request, and of all results, in order: equal in every sound request. */
export function callIdsOf(messages: readonly ParsedMessage[]) {
  return {
    called: messages.flatMap((message) => message.calls.map((call) => call.id)),
    answered: messages.flatMap((message) => message.callId ?? []),
  };
}
