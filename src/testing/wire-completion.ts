import type { JsonObject } from '../ledger/content.ts';
import type { ScriptedCall, StreamResponse } from './script.ts';
import { argumentsText } from './wire-calls.ts';
import { type AnswerIdentity, wireUsage, withFinish } from './wire-stream.ts';

/** The same answer for a client that did not ask for a stream. */
export function completionBody(response: StreamResponse, identity: AnswerIdentity): JsonObject {
  const parts = withFinish(response.parts);
  const of = (type: 'text' | 'reasoning') =>
    parts.flatMap((part) => (part.type === type ? part.deltas : [])).join('');
  const calls = parts.flatMap((part) => (part.type === 'calls' ? part.calls : []));
  const finish = parts.find((part) => part.type === 'finish');
  const usage = parts.find((part) => part.type === 'usage');
  const [content, reasoning] = [of('text'), of('reasoning')];
  return {
    id: identity.id,
    object: 'chat.completion',
    created: 1_767_225_600,
    model: identity.model,
    choices: [
      {
        index: 0,
        finish_reason: finish?.reason ?? null,
        message: {
          role: 'assistant',
          content: content === '' && calls.length > 0 ? null : content,
          ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
          ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => callOf(call, identity)) }),
        },
      },
    ],
    ...(usage === undefined ? {} : { usage: wireUsage(usage.usage) }),
  };
}

function callOf(call: ScriptedCall, identity: AnswerIdentity): JsonObject {
  return {
    id: call.id ?? identity.newCallId(),
    type: 'function',
    function: { name: call.name, arguments: argumentsText(call) },
  };
}
