import type { PromptMessage } from '../model/adapter.ts';

/** Whether a message holds results with images or files. */
export function hasMedia(message: PromptMessage): boolean {
  if (message.role !== 'tool') return false;
  return message.results.some(
    ({ output }) => output.type === 'content' && output.parts.some(({ type }) => type !== 'text'),
  );
}

/** A message of results without its images and files. */
export function withoutMedia(message: PromptMessage): PromptMessage {
  if (message.role !== 'tool' || !hasMedia(message)) return message;
  const results = message.results.map((result) => {
    if (result.output.type !== 'content') return result;
    const parts = result.output.parts.map((part) =>
      part.type === 'text' ? part : { type: 'text' as const, text: `[${part.type} left out to save space]` },
    );
    return { ...result, output: { ...result.output, parts } };
  });
  return { role: 'tool', results };
}
