import type { PromptAssistantPart, PromptMessage, PromptToolResult } from '../model/adapter.ts';
import { cutChars } from '../tools/safe-text.ts';
import { type ResultPlace, textOfOutput } from './prune-results.ts';

/** Characters of one text, result or set of arguments in a transcript. */
const MAX_TEXT_CHARS = 4_000;
const MAX_RESULT_CHARS = 2_000;
const MAX_ARGS_CHARS = 500;
/** Of what is too long as a whole, this share of its beginning stays; the rest is its end. */
const HEAD_SHARE = 0.25;

/**
 * Messages as one text for the model that sums them up: no call and no result of it is one of the request, so nothing
 * in it can be cut from its other half. At most `maxChars` characters.
 */
export function transcriptOf(
  messages: readonly PromptMessage[],
  placeOf: (wireId: string) => ResultPlace | undefined,
  maxChars: number,
): string {
  const whole = messages.map((message) => messageText(message, placeOf)).join('\n\n');
  if (whole.length <= maxChars) return whole;
  const head = cutChars(whole, Math.floor(maxChars * HEAD_SHARE));
  const tail = whole.slice(whole.length - Math.max(0, maxChars - head.length));
  return `${head}\n[...]\n${tail}`;
}

function messageText(message: PromptMessage, placeOf: (wireId: string) => ResultPlace | undefined): string {
  switch (message.role) {
    case 'user':
      return `USER: ${message.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')}`;
    case 'assistant':
      return `ASSISTANT: ${message.content.flatMap(partText).join('\n')}`;
    case 'tool':
      return message.results.map((result) => resultText(result, placeOf(result.wireId)?.handle)).join('\n');
  }
}

function partText(part: PromptAssistantPart): readonly string[] {
  if (part.type === 'text') return [cutMiddle(part.text, MAX_TEXT_CHARS)];
  if (part.type !== 'call') return [];
  return [`called ${part.toolName} ${cutChars(JSON.stringify(part.args), MAX_ARGS_CHARS)}`];
}

function resultText({ toolName, output }: PromptToolResult, handle: string | undefined): string {
  const text = textOfOutput(output) ?? '[attachments]';
  const failed = output.type === 'error' ? ' (error)' : '';
  return `RESULT of ${toolName}${failed}${handle === undefined ? '' : `, id ${handle}`}: ${cutMiddle(text, MAX_RESULT_CHARS)}`;
}

function cutMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = cutChars(text, Math.ceil(max / 2));
  return `${head}\n[...]\n${text.slice(text.length - Math.floor(max / 2))}`;
}
