import type { ToolOutput, UserPart } from '../ledger/content.ts';

/** What a model was given as a result, as text. */
export function outputText(output: ToolOutput): string {
  switch (output.type) {
    case 'text':
    case 'error':
      return output.text;
    case 'json':
      return JSON.stringify(output.value);
    case 'content':
      return partsText(output.parts);
  }
}

/** Message parts as text; what is no text is named. */
export function partsText(parts: readonly UserPart[]): string {
  return parts
    .map((part) => (part.type === 'text' ? part.text : `[${part.type} ${part.mediaType}]`))
    .join('\n');
}
