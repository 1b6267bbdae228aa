import { createHash } from 'node:crypto';
import { SwarmError } from '../errors.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { WireTool } from '../model/adapter.ts';
import { createArgumentCheck } from './argument-validation.ts';
import type { Binding, BoundTool } from './binding.ts';
import { jsonSchemaForms } from './json-schema.ts';
import { createNameClaims } from './name-claims.ts';
import { safeText } from './safe-text.ts';
import type { Tool } from './tool.ts';
import { replayName } from './tool-names.ts';

/** Options of {@link bindTools}. */
export interface BindOptions {
  /** Names the runtime keeps for itself; a tool may neither have one nor look like one. */
  readonly reservedNames?: readonly string[];
  /** Characters of a description that reach a model. Default 1,024. */
  readonly maxDescriptionChars?: number;
}

/**
 * Prepares tools for turns: names checked, schemas converted, definitions serialized and hashed once and frozen. The
 * result holds exactly `tools`, in their order.
 * @throws SwarmError 'duplicate-tool', 'reserved-tool-name', 'look-alike-tool-name', 'unusable-schema' and, for a tool
 * that `defineTool` did not make, 'invalid-definition'; each names the tool
 */
export function bindTools(tools: readonly Tool[], options: BindOptions = {}): Binding {
  const claims = createNameClaims(options.reservedNames ?? []);
  for (const tool of tools) {
    const conflict = claims.claim(tool);
    if (conflict !== undefined) throw new SwarmError(conflict.code, conflict.message);
  }
  return bindingOf(tools.map((tool) => bindTool(tool, options)));
}

/** A binding of tools whose names were checked against each other. */
export function bindingOf(bound: readonly BoundTool[]): Binding {
  const byName = new Map(bound.map((one) => [one.name, one]));
  const byWireName = new Map(bound.map((one) => [one.definition.name, one]));
  const hashes = [...bound].sort(byCodeUnit).map((one) => one.schemaHash);
  return Object.freeze({
    tools: Object.freeze([...bound]),
    hash: sha256(hashes.join('\n')),
    byName: (name: string) => byName.get(name),
    byWireName: (wireName: string) => byWireName.get(wireName),
  });
}

/** How one tool is bound. */
export interface BindToolOptions {
  readonly maxDescriptionChars?: number;
  /** The live source it comes from: it gives the tool its group and makes it `auto` where the tool says neither. */
  readonly source?: string;
}

/** Prepares one tool. @throws SwarmError 'unusable-schema' naming it */
export function bindTool(tool: Tool, options: BindToolOptions = {}): BoundTool {
  const { name, description, inputSchema } = tool;
  const { source } = options;
  const forms = jsonSchemaForms(inputSchema, name);
  const definition: WireTool = Object.freeze({
    name: replayName(name),
    description: safeText(description, options.maxDescriptionChars),
    inputSchema: forms.wire,
  });
  const live = source === undefined ? {} : { source };
  return Object.freeze({
    tool,
    name,
    definition,
    // Over what the author wrote, whole: a change where a model does not see it is a change too. What one server may
    // do says nothing of another's tool of the same looks.
    schemaHash: sha256(canonicalJson({ name, description, schema: forms.source, ...live })),
    schemaChars: JSON.stringify(definition).length,
    defer: tool.defer ?? (source === undefined ? 'never' : 'auto'),
    group: tool.group ?? source,
    ...live,
    validate: createArgumentCheck(tool),
  });
}

function byCodeUnit(left: BoundTool, right: BoundTool): number {
  return left.name < right.name ? -1 : left.name > right.name ? 1 : 0;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
