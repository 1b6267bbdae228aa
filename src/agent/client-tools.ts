import { SwarmError } from '../errors.ts';
import { bindTool } from '../tools/bind-tools.ts';
import { createNameClaims } from '../tools/name-claims.ts';
import type { Tool } from '../tools/tool.ts';
import {
  type AnyToolSource,
  CLIENT_SOURCE,
  checkSourceNames,
  fixedSource,
  isToolSource,
  isToolSourceDefinition,
} from '../tools/tool-source.ts';
import { type AnyAgent, reservedNames } from './define-agent.ts';

/** What a run may bring along: tools that stay as they are, and sources of tools that may change while it runs. */
export type ClientTools<Context = never> = readonly (Tool<Context> | AnyToolSource<Context>)[];

/**
 * The tools of a run as sources: those given one by one are the source `client`. They never change, so what is wrong
 * with them is the caller's mistake and told at once; what a source offers is judged when it is read.
 * @throws SwarmError 'invalid-definition', 'duplicate-tool', 'reserved-tool-name', 'look-alike-tool-name',
 * 'unusable-schema'; each names the tool
 */
export function clientSources(agent: AnyAgent, given: ClientTools | undefined): readonly AnyToolSource[] {
  if (given === undefined || given.length === 0) return [];
  const tools = given.filter((one): one is Tool<never> => 'kind' in one && one.kind === 'tool');
  const sources = given.filter((one): one is AnyToolSource => !('kind' in one) || one.kind !== 'tool');
  for (const source of sources) {
    if (!isToolSource(source) && !isToolSourceDefinition(source))
      throw new SwarmError('invalid-definition', 'clientTools: not a tool source');
  }
  checkClientTools(agent, tools);
  const all = tools.length === 0 ? sources : [fixedSource(CLIENT_SOURCE, tools), ...sources];
  checkSourceNames([...agent.toolSources, ...all], 'clientTools');
  return all;
}

function checkClientTools(agent: AnyAgent, tools: readonly Tool[]): void {
  const claims = createNameClaims(reservedNames(agent));
  for (const { tool } of agent.binding.tools) claims.claim(tool);
  for (const tool of tools) {
    const conflict = claims.claim(tool);
    if (conflict !== undefined) throw new SwarmError(conflict.code, `clientTools: ${conflict.message}`);
    bindTool(tool, { source: CLIENT_SOURCE });
  }
}
