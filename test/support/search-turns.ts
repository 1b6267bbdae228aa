import { z } from 'zod';
import type { LedgerRecord, RecordOf } from '../../src/ledger/records.ts';
import type { Reply } from '../../src/testing/reply.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ScriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { InputSchema, Tool, ToolDefinition } from '../../src/tools/tool.ts';

type Options = Partial<ToolDefinition<InputSchema, unknown, unknown>>;

/** A deferred tool whose description says only what its name says. */
export function deferredTool(name: string, options: Options = {}): Tool<unknown> {
  return defineTool<InputSchema, unknown, unknown>({
    name,
    description: `Does ${name.replaceAll('_', ' ')}.`,
    inputSchema: z.object({ id: z.string().optional() }),
    defer: 'always',
    execute: () => `${name} done`,
    ...options,
  });
}

/** Deferred tools of these names, ungrouped. */
export function deferredTools(...names: readonly string[]): readonly Tool<unknown>[] {
  return names.map((name) => deferredTool(name));
}

/** An answer with searches, one for each query; a number is the limit of the query before it. */
export function searching(...queries: readonly (string | { query: string; limit: number })[]): Reply {
  return queries.reduce<Reply>(
    (answer, query) => answer.call('tool_search', typeof query === 'string' ? { query } : query),
    reply(),
  );
}

type Requests = Pick<ScriptedModel, 'requests'>;

/** Names of the tools of each request, in wire order. */
export function toolsOf(model: Requests): readonly (readonly string[])[] {
  return model.requests.map(({ request }) => request.tools.map((tool) => tool.name));
}

/** The inventory of a request: what stands behind the instructions of `scriptedAgent`. */
export function inventoryOf(model: Requests, ordinal = 0): string {
  const system = model.requests[ordinal]?.request.system ?? '';
  return system.replace(/^Work\.(\n\n)?/, '');
}

/** The names an inventory lists, by group. */
export function listedNames(inventory: string): Readonly<Record<string, readonly string[]>> {
  const groups: Record<string, string[]> = {};
  let last: string[] = [];
  for (const line of inventory.split('\n')) {
    if (line.startsWith('- ')) last.push(line.slice(2));
    else if (line.endsWith(':') && !line.includes(' ')) groups[line.slice(0, -1)] = last = [];
  }
  return groups;
}

/** The facts of each search, in order. */
export function searchesOf(records: readonly LedgerRecord[]): readonly RecordOf<'tools.searched'>['data'][] {
  return records.flatMap((record) => (record.type === 'tools.searched' ? [record.data] : []));
}

/** Names activated by each call, in order. */
export function activationsOf(records: readonly LedgerRecord[]): readonly (readonly string[])[] {
  return records.flatMap((record) => (record.type === 'tools.activated' ? [record.data.names] : []));
}

/** What a search told the model: the JSON of its first line. */
export function toldBy(result: string | undefined): {
  readonly activated: readonly string[];
  readonly alreadyActive?: readonly string[];
} {
  return JSON.parse((result ?? '').split('\n')[0] ?? '') as ReturnType<typeof toldBy>;
}
