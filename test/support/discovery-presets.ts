import { z } from 'zod';
import type { JsonObject } from '../../src/ledger/content.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { DiscoveryPreset } from '../../src/tools/discovery-policy.ts';
import type { Tool } from '../../src/tools/tool.ts';

/** A call a scripted model makes. */
export interface PlayedCall {
  readonly name: string;
  readonly args: JsonObject;
}

/** How a model gets at a deferred tool under one preset. */
export interface PresetDriver {
  readonly preset: DiscoveryPreset;
  /** The call after which a deferred tool may be used; none where there is nothing to do. */
  load(toolName: string): PlayedCall | undefined;
  /** The call that uses it. */
  use(toolName: string, args: JsonObject): PlayedCall;
}

const direct = (name: string, args: JsonObject): PlayedCall => ({ name, args });

/** Group of each tool of {@link presetTools}. */
const GROUPS: Readonly<Record<string, string>> = {
  get_weather: 'outdoors',
  get_tides: 'outdoors',
  send_mail: 'post',
};

export const DRIVERS: Readonly<Record<DiscoveryPreset, PresetDriver>> = {
  search: {
    preset: 'search',
    load: (query) => ({ name: 'tool_search', args: { query, limit: 1 } }),
    use: direct,
  },
  groups: {
    preset: 'groups',
    load: (name) => ({ name: 'load_tools', args: { group: GROUPS[name] ?? '' } }),
    use: direct,
  },
  placeholder: {
    preset: 'placeholder',
    load: (name) => ({ name: 'ToolSearch', args: { query: `select:${name}` } }),
    use: direct,
  },
  'placeholder-static': {
    preset: 'placeholder-static',
    load: (name) => ({ name: 'ToolSearch', args: { query: `select:${name}` } }),
    use: direct,
  },
  invoke: {
    preset: 'invoke',
    load: (name) => ({ name: 'tool_inspect', args: { name } }),
    use: (name, params) => ({ name: 'tool_invoke', args: { name, params } }),
  },
  off: { preset: 'off', load: () => undefined, use: direct },
};

export const PRESET_NAMES = Object.keys(DRIVERS) as readonly DiscoveryPreset[];

/** One direct tool and three deferred ones, which tell `onEntry` of every execution. */
export function presetTools(
  onEntry: (toolName: string, input: unknown) => void = () => undefined,
): Tool<unknown>[] {
  const city = z.object({ city: z.string().describe('Name of the place.'), days: z.int().default(1) });
  const entered = (name: string) => (input: unknown) => {
    onEntry(name, input);
    return `${name} done`;
  };
  return [
    defineTool({
      name: 'note',
      description: 'Takes a note.',
      inputSchema: z.object({ text: z.string() }),
      execute: entered('note'),
    }),
    defineTool({
      name: 'get_weather',
      description: 'Tells the weather of a city.\nKnows all cities.',
      inputSchema: city,
      defer: 'always',
      group: 'outdoors',
      execute: entered('get_weather'),
    }),
    defineTool({
      name: 'get_tides',
      description: 'Tells the tides of a harbour.',
      inputSchema: city,
      defer: 'always',
      group: 'outdoors',
      execute: entered('get_tides'),
    }),
    defineTool({
      name: 'send_mail',
      description: 'Sends a letter.',
      inputSchema: z.object({ to: z.string() }),
      defer: 'always',
      group: 'post',
      execute: entered('send_mail'),
    }),
  ];
}
