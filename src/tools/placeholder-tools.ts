import { createHash } from 'node:crypto';
import type { WireTool } from '../model/adapter.ts';
import type { BoundTool } from './binding.ts';
import { cutChars } from './safe-text.ts';

/** What a request carries of a tool, and what that weighs. A bound tool is its own full form. */
export type WireForm = Pick<BoundTool, 'definition' | 'schemaHash' | 'schemaChars'>;

const MAX_HINT_CHARS = 200;

const PLACEHOLDERS = new WeakMap<BoundTool, WireForm>();

/**
 * The form of a tool that is not active: its name, a hint of one line, no parameters. Arguments of any shape may be
 * written for it, so that a model can guess. Made once for each tool: its bytes never change.
 */
export function placeholderOf(bound: BoundTool): WireForm {
  const known = PLACEHOLDERS.get(bound);
  if (known !== undefined) return known;
  const made = makePlaceholder(bound);
  PLACEHOLDERS.set(bound, made);
  return made;
}

function makePlaceholder({ definition }: BoundTool): WireForm {
  const { name, description } = definition;
  const placeholder: WireTool = Object.freeze({
    name,
    description: hintOf(description),
    inputSchema: Object.freeze({ type: 'object', properties: Object.freeze({}) }),
  });
  const json = JSON.stringify(placeholder);
  return Object.freeze({
    definition: placeholder,
    schemaHash: createHash('sha256').update(json).digest('hex'),
    schemaChars: json.length,
  });
}

/** The first line that says something, at most 200 characters. */
export function hintOf(description: string): string {
  const lines = description.split('\n').map((line) => line.trim());
  return cutChars(lines.find((line) => line !== '') ?? '', MAX_HINT_CHARS);
}
