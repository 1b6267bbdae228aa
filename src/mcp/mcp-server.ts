import type { ToolSourceDefinition } from '../tools/tool-source.ts';
import { assertSdkInstalled } from './load-sdk.ts';
import { checkServerOptions, type McpServerOptions } from './server-options.ts';
import { ServerSource } from './server-source.ts';
import { isServerTool, serverToolName } from './server-tool-name.ts';

/** An MCP server as a source of tools, frozen: made by {@link mcpServer}. */
export interface McpServer extends ToolSourceDefinition {
  /** What a tool of the server is called here, by the name the server gives it: for `boundTools` and policies. */
  toolName(tool: string): string;
}

/**
 * An MCP server as a source of tools: a program on this machine (`command`) or a service (`url`). It stands among the
 * tools of an agent or in the `clientTools` of a run, and is plain data until a runtime runs a turn that may use its
 * tools: then it is started, once for all turns of the runtime, and it ends with the runtime.
 *
 * Its tools are named `server__tool`. What it changes takes effect at the next step. A server that dies takes its tools
 * with it until it is up again, which is tried with growing pauses. Everything it says is data from a stranger: names,
 * descriptions and results are neutralised, and a tool that it changes is asked about again where a person allowed it.
 *
 * Needs the package `@modelcontextprotocol/client`.
 * @throws SwarmError 'invalid-definition' naming the field, 'mcp-client-missing'
 * @example
 * const files = mcpServer({
 *   name: 'files',
 *   command: 'npx',
 *   args: ['-y', '@modelcontextprotocol/server-filesystem', '/srv/docs'],
 * });
 * const agent = defineAgent({ name: 'reader', instructions: 'Read.', model, tools: [files] });
 */
export function mcpServer(options: McpServerOptions): McpServer {
  const spec = checkServerOptions(options);
  assertSdkInstalled();
  const name = `mcp:${spec.name}`;
  const selected = spec.tools?.map((tool) => serverToolName(spec.name, tool));
  return Object.freeze({
    kind: 'tool-source' as const,
    name,
    toolName: (tool: string) => serverToolName(spec.name, tool),
    mayOffer: (toolName: string) => selected?.includes(toolName) ?? isServerTool(spec.name, toolName),
    open: ({ clock }) => new ServerSource(name, spec, clock),
  } satisfies McpServer);
}
