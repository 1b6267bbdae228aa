import { SwarmError } from '../errors.ts';
import { safeName } from './safe-text.ts';
import type { Tool } from './tool.ts';

/**
 * Tools that come, go and change while the program runs: those of a server, those a client offers. A turn looks at
 * its sources between two steps and never within one.
 */
export interface ToolSource<in Context = never> {
  /**
   * Who offers the tools; `[A-Za-z0-9_.:-]`, at most 64 characters, for example `mcp:files`. The group of tools that
   * name none. Approvals of its tools hold for no other source.
   */
  readonly name: string;
  /** Another number whenever `tools()` would answer otherwise. Read often: keep it cheap. */
  readonly revision: number;
  /** What is offered now. A throw leaves what was offered before. */
  tools(): readonly Tool<Context>[];
}

/** Name of the source of tools that a run is given as a list. */
export const CLIENT_SOURCE = 'client';

const SOURCE_NAME = /^[A-Za-z0-9_.:-]{1,64}$/;

/** True for what looks like a {@link ToolSource}. */
export function isToolSource(value: unknown): value is ToolSource {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    SOURCE_NAME.test(value.name) &&
    'revision' in value &&
    typeof value.revision === 'number' &&
    'tools' in value &&
    typeof value.tools === 'function'
  );
}

/** @throws SwarmError 'invalid-definition' for two sources of one name; `where` says whose they are */
export function checkSourceNames(sources: readonly ToolSource[], where: string): void {
  const names = new Set<string>();
  for (const { name } of sources) {
    if (names.has(name)) {
      throw new SwarmError('invalid-definition', `${where}: two tool sources are named ${safeName(name)}`);
    }
    names.add(name);
  }
}

/** Tools that stay as they are, as a source. */
export function fixedSource(name: string, tools: readonly Tool[]): ToolSource {
  const offered = Object.freeze([...tools]);
  return { name, revision: 0, tools: () => offered };
}
