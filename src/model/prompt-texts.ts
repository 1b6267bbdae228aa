import type { UserPart } from '../ledger/content.ts';
import type { StepRequest } from './adapter.ts';

/** Every text of a request that a provider might quote in an error. */
export function* promptTexts(request: StepRequest): Iterable<string> {
  if (request.system !== undefined) yield request.system;
  for (const message of request.messages) {
    switch (message.role) {
      case 'user':
        yield* userTexts(message.content);
        break;
      case 'assistant':
        for (const part of message.content) {
          if (part.type === 'text' || part.type === 'reasoning') yield part.text;
          else if (part.type === 'call') yield JSON.stringify(part.args);
        }
        break;
      case 'tool':
        for (const { output } of message.results) {
          if (output.type === 'text' || output.type === 'error') yield output.text;
          else if (output.type === 'json') yield JSON.stringify(output.value);
          else yield* userTexts(output.parts);
        }
    }
  }
}

function* userTexts(parts: readonly UserPart[]): Iterable<string> {
  for (const part of parts) {
    if (part.type === 'text') yield part.text;
    else if (part.source.type === 'base64') yield part.source.data;
  }
}
