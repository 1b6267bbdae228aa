import type { Clock } from '../clock.ts';
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
  /**
   * Resolves when what is offered is known again, for a source that has to ask for it. Awaited before the source is
   * read, for at most `limits.timeouts.sourceMs`; what is not known by then comes with a later step. Called by several
   * turns at once.
   */
  settle?(signal: AbortSignal): Promise<void>;
}

/** What a source is opened with. */
export interface ToolSourceHost {
  readonly clock: Clock;
}

/** A source that holds something: a connection, a process. */
export interface OpenToolSource extends ToolSource<unknown>, AsyncDisposable {}

/**
 * Where tools come from that has to be opened, for example a server. Plain data: a runtime opens it when a turn first
 * may use its tools, shares it between its turns, and closes it with itself.
 */
export interface ToolSourceDefinition {
  readonly kind: 'tool-source';
  /** As {@link ToolSource.name}. */
  readonly name: string;
  /** Whether a tool of this name could be one of its own; a run that may use none of them does not open it. */
  mayOffer(toolName: string): boolean;
  open(host: ToolSourceHost): OpenToolSource;
}

/** Tools that come and go, opened or to be opened. */
export type AnyToolSource<Context = never> = ToolSource<Context> | ToolSourceDefinition;

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

/** True for what looks like a {@link ToolSourceDefinition}. */
export function isToolSourceDefinition(value: unknown): value is ToolSourceDefinition {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    value.kind === 'tool-source' &&
    'name' in value &&
    typeof value.name === 'string' &&
    SOURCE_NAME.test(value.name) &&
    'open' in value &&
    typeof value.open === 'function' &&
    'mayOffer' in value &&
    typeof value.mayOffer === 'function'
  );
}

/** @throws SwarmError 'invalid-definition' for two sources of one name; `where` says whose they are */
export function checkSourceNames(sources: readonly Pick<ToolSource, 'name'>[], where: string): void {
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
