import type { PromptMessage, PromptToolResult } from '../model/adapter.ts';

/** A rule a list of messages breaks; a provider would answer such a request with an error, for ever. */
export type PairingViolation =
  | { readonly type: 'unanswered-call'; readonly wireId: string }
  | { readonly type: 'orphan-result'; readonly wireId: string }
  | { readonly type: 'repeated-call'; readonly wireId: string };

/**
 * Checks that each call has exactly one result, in the tool message right after it and in call order.
 * Empty when all is well.
 */
export function findPairingViolations(messages: readonly PromptMessage[]): readonly PairingViolation[] {
  const violations: PairingViolation[] = [];
  const seen = new Set<string>();
  messages.forEach((message, index) => {
    const calls = callIds(message);
    const next = messages[index + 1];
    const answers = next?.role === 'tool' ? next.results.map((result) => result.wireId) : [];
    for (const wireId of calls) {
      if (seen.has(wireId)) violations.push({ type: 'repeated-call', wireId });
      seen.add(wireId);
      if (!answers.includes(wireId)) violations.push({ type: 'unanswered-call', wireId });
    }
    if (message.role === 'tool') {
      const asked = callIds(messages[index - 1]);
      for (const result of message.results) {
        if (!asked.includes(result.wireId)) violations.push({ type: 'orphan-result', wireId: result.wireId });
      }
    }
  });
  return violations;
}

/**
 * The last pass over every request: unanswered calls get an error result, orphan and repeated results are
 * dropped. Returns the same list when nothing is wrong, which is the rule.
 */
export function pairMessages(messages: readonly PromptMessage[]): readonly PromptMessage[] {
  if (findPairingViolations(messages).length === 0) return messages;
  const paired: PromptMessage[] = [];
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined || message.role === 'tool') continue;
    paired.push(message);
    if (message.role !== 'assistant') continue;
    const next = messages[index + 1];
    const results = pairedResults(message, next?.role === 'tool' ? next.results : []);
    if (results.length > 0) paired.push({ role: 'tool', results });
  }
  return paired;
}

function pairedResults(
  message: Extract<PromptMessage, { role: 'assistant' }>,
  results: readonly PromptToolResult[],
): readonly PromptToolResult[] {
  return message.content.flatMap((part) => {
    if (part.type !== 'call') return [];
    const found = results.find((result) => result.wireId === part.wireId);
    if (found !== undefined) return [found];
    const text = 'No result of this call is known.';
    return [{ wireId: part.wireId, toolName: part.toolName, output: { type: 'error' as const, text } }];
  });
}

function callIds(message: PromptMessage | undefined): readonly string[] {
  if (message?.role !== 'assistant') return [];
  return message.content.flatMap((part) => (part.type === 'call' ? [part.wireId] : []));
}
