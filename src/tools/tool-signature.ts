import type { BoundTool } from './binding.ts';
import { safeText } from './safe-text.ts';

/**
 * A tool as a result shows it: name, description and parameters as one line of JSON. Undefined where it is longer than
 * `maxChars`: half a schema would be a wrong one.
 */
export function signatureText(bound: BoundTool, maxChars: number): string | undefined {
  const { name, description, inputSchema } = bound.definition;
  const json = JSON.stringify({ name, description, parameters: inputSchema });
  // Texts inside the schema are foreign too; nothing that JSON needs is among what is removed.
  return json.length > maxChars ? undefined : safeText(json, maxChars);
}
