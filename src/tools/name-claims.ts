import type { SwarmErrorCode } from '../errors.ts';
import { isToolName } from './define-tool.ts';
import { lookAlikeKeys } from './look-alike.ts';
import { safeName } from './safe-text.ts';
import type { Tool } from './tool.ts';
import { replayName } from './tool-names.ts';

/** Why a tool cannot stand beside those that have their names already. */
export interface NameConflict {
  readonly code: Extract<
    SwarmErrorCode,
    'invalid-definition' | 'duplicate-tool' | 'reserved-tool-name' | 'look-alike-tool-name'
  >;
  readonly message: string;
}

/** The names of one binding as they are given out: first come, first served. */
export interface NameClaims {
  /** Takes the name of a tool, or says what it conflicts with; then nothing is taken. */
  claim(tool: Pick<Tool, 'kind' | 'name'>): NameConflict | undefined;
}

/** `reservedNames` are names the runtime keeps: a tool may neither have one nor look like one. */
export function createNameClaims(reservedNames: readonly string[]): NameClaims {
  const reserved = new Map(reservedNames.flatMap((name) => lookAlikeKeys(name).map((key) => [key, name])));
  const names = new Set<string>();
  const looks = new Map<string, string>();
  const wireNames = new Map<string, string>();

  function conflictOf(name: string): NameConflict | undefined {
    if (names.has(name)) return { code: 'duplicate-tool', message: `two tools are named ${name}` };
    for (const key of lookAlikeKeys(name)) {
      const keeper = reserved.get(key);
      if (keeper !== undefined) {
        const message = `the tool name ${name} is or looks like ${keeper}, which is reserved`;
        return { code: 'reserved-tool-name', message };
      }
      const other = looks.get(key);
      if (other !== undefined) {
        return { code: 'look-alike-tool-name', message: `the tool names ${other} and ${name} look alike` };
      }
    }
    // History is replayed under names made without a binding, so a wire name must follow from its tool's name alone.
    const wireName = replayName(name);
    const other = wireNames.get(wireName);
    if (other === undefined) return undefined;
    const message = `the tools ${other} and ${name} would both be sent as ${wireName}`;
    return { code: 'look-alike-tool-name', message };
  }

  return {
    claim({ kind, name }) {
      if (kind !== 'tool' || !isToolName(name)) {
        const message = `${safeName(String(name))} is not a tool made by defineTool`;
        return { code: 'invalid-definition', message };
      }
      const conflict = conflictOf(name);
      if (conflict !== undefined) return conflict;
      names.add(name);
      for (const key of lookAlikeKeys(name)) looks.set(key, name);
      wireNames.set(replayName(name), name);
      return undefined;
    },
  };
}
