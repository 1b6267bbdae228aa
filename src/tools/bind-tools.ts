import { createHash } from 'node:crypto';
import { SwarmError } from '../errors.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { WireTool } from '../model/adapter.ts';
import { createArgumentCheck } from './argument-validation.ts';
import type { Binding, BoundTool } from './binding.ts';
import { isToolName } from './define-tool.ts';
import { jsonSchemaForms } from './json-schema.ts';
import { lookAlikeKeys } from './look-alike.ts';
import { safeName, safeText } from './safe-text.ts';
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
  checkNames(tools, options.reservedNames ?? []);
  checkWireNames(tools);
  const bound = tools.map((tool) => bindTool(tool, options));
  const byName = new Map(bound.map((one) => [one.name, one]));
  const byWireName = new Map(bound.map((one) => [one.definition.name, one]));
  return Object.freeze({
    tools: Object.freeze(bound),
    hash: sha256(
      [...bound]
        .sort(byCodeUnit)
        .map((one) => one.schemaHash)
        .join('\n'),
    ),
    byName: (name: string) => byName.get(name),
    byWireName: (wireName: string) => byWireName.get(wireName),
  });
}

function checkNames(tools: readonly Tool[], reservedNames: readonly string[]): void {
  const reserved = new Map(reservedNames.flatMap((name) => lookAlikeKeys(name).map((key) => [key, name])));
  const names = new Set<string>();
  const looks = new Map<string, string>();
  for (const { kind, name } of tools) {
    if (kind !== 'tool' || !isToolName(name)) {
      throw new SwarmError(
        'invalid-definition',
        `${safeName(String(name))} is not a tool made by defineTool`,
      );
    }
    if (names.has(name)) throw new SwarmError('duplicate-tool', `two tools are named ${name}`);
    names.add(name);
    for (const key of lookAlikeKeys(name)) {
      const keeper = reserved.get(key);
      if (keeper !== undefined) {
        throw new SwarmError(
          'reserved-tool-name',
          `the tool name ${name} is or looks like ${keeper}, which is reserved`,
        );
      }
      const other = looks.get(key);
      if (other !== undefined && other !== name) {
        throw new SwarmError('look-alike-tool-name', `the tool names ${other} and ${name} look alike`);
      }
      looks.set(key, name);
    }
  }
}

/** History is replayed under names made without a binding, so a wire name must follow from its tool's name alone. */
function checkWireNames(tools: readonly Tool[]): void {
  const owners = new Map<string, string>();
  for (const { name } of tools) {
    const wireName = replayName(name);
    const other = owners.get(wireName);
    if (other !== undefined) {
      throw new SwarmError(
        'look-alike-tool-name',
        `the tools ${other} and ${name} would both be sent as ${wireName}`,
      );
    }
    owners.set(wireName, name);
  }
}

function bindTool(tool: Tool, options: BindOptions): BoundTool {
  const { name, description, inputSchema } = tool;
  const { source, wire } = jsonSchemaForms(inputSchema, name);
  const definition: WireTool = Object.freeze({
    name: replayName(name),
    description: safeText(description, options.maxDescriptionChars),
    inputSchema: wire,
  });
  return Object.freeze({
    tool,
    name,
    definition,
    // Over what the author wrote, whole: a change where a model does not see it is a change too.
    schemaHash: sha256(canonicalJson({ name, description, schema: source })),
    schemaChars: JSON.stringify(definition).length,
    validate: createArgumentCheck(tool),
  });
}

function byCodeUnit(left: BoundTool, right: BoundTool): number {
  return left.name < right.name ? -1 : left.name > right.name ? 1 : 0;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
