import type { DocumentTerms } from './search-postings.ts';
import { schemaText } from './search-schema-text.ts';

/** What a search may know of a tool. */
export interface SearchableTool {
  /** The canonical name, unique in the catalogue. */
  readonly name: string;
  readonly group?: string;
  /** Other names under which it is found exactly. */
  readonly aliases?: readonly string[];
  readonly description: string;
  /** A JSON Schema object; anything else counts as a tool without parameters. */
  readonly inputSchema: unknown;
}

const MAX_NAME_CHARS = 512;
const MAX_LABEL_CHARS = 1_024;
const MAX_ALIASES = 32;
const MAX_DESCRIPTION_CHARS = 8_192;
const MAX_LEAD_CHARS = 200;
const LEAD_CHARS = 100;
const MIN_LEAD_CHARS = 20;

/**
 * The terms of a tool by field: at most 512 characters of its name, 1,024 of group and aliases, 8,192 of the
 * description and as many of the schema.
 */
export function readTool(
  tool: SearchableTool,
  analyse: (text: string) => string[],
  withSchema: boolean,
): DocumentTerms {
  const name = analyse(tool.name.slice(0, MAX_NAME_CHARS));
  const aliases = (tool.aliases ?? []).slice(0, MAX_ALIASES);
  const labels = [tool.group ?? '', ...aliases].join('\n').slice(0, MAX_LABEL_CHARS);
  const description = tool.description.slice(0, MAX_DESCRIPTION_CHARS).trimStart();
  const lead = leadLength(description);
  return {
    name,
    label: [...new Set(analyse(labels))].filter((term) => !name.includes(term)),
    lead: analyse(description.slice(0, lead)),
    rest: analyse(description.slice(lead)),
    schema: withSchema ? analyse(schemaText(tool.inputSchema)) : [],
  };
}

/** Where the first sentence ends: descriptions say first what a tool does, then how and when. */
function leadLength(description: string): number {
  const end = description.slice(0, MAX_LEAD_CHARS).search(/[.!?\n](?:\s|$)|\u3002/);
  return end < MIN_LEAD_CHARS ? Math.min(description.length, LEAD_CHARS) : end;
}
