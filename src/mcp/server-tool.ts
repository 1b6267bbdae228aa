import type { JsonObject } from '../ledger/content.ts';
import { issuesText } from '../tools/argument-issues.ts';
import { defineTool } from '../tools/define-tool.ts';
import { safeData, safeName } from '../tools/safe-text.ts';
import { compileSchema, type SchemaValidator } from '../tools/schema-validator.ts';
import type { Tool, ToolContext } from '../tools/tool.ts';
import type { CallToolResult, Connection, ListedTool } from './connection.ts';
import { resultValue } from './result-content.ts';
import type { ServerSpec } from './server-options.ts';
import { serverToolName } from './server-tool-name.ts';

/** The connection of the moment, for tools that outlive it. */
export interface ServerLink {
  readonly connection: Connection | undefined;
  /** A call found the connection gone. */
  lost(connection: Connection): void;
}

/**
 * A tool of a server as one of ours. What it does outside nobody knows, so a call that a crash left open is never
 * repeated.
 * @throws SwarmError 'unusable-schema', 'invalid-definition'
 */
export function serverTool(spec: ServerSpec, listed: ListedTool, link: ServerLink): Tool<unknown> {
  const { needsApproval = false, defer, timeoutMs, maxResultBytes } = spec;
  const checkOf = structuredCheck(listed);
  return defineTool({
    name: serverToolName(spec.name, listed.name),
    description: listed.description ?? listed.title ?? '',
    // It came as JSON; whether it can be used is looked at where the tool is bound.
    inputSchema: listed.inputSchema as unknown as JsonObject,
    needsApproval: typeof needsApproval === 'function' ? needsApproval(listed.name) : needsApproval,
    ...(defer === undefined ? {} : { defer }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxResultBytes === undefined ? {} : { maxResultBytes }),
    async execute(input: JsonObject, ctx: ToolContext) {
      const result = await call(spec, listed, link, { input, ctx });
      if ('error' in result) return result;
      const fault = result.isError === true ? undefined : await checkOf(result.structuredContent);
      if (fault !== undefined) return { error: fault };
      return resultValue(result, ctx.artifacts);
    },
  });
}

interface Entered {
  readonly input: JsonObject;
  readonly ctx: ToolContext;
}

async function call(
  { name }: ServerSpec,
  listed: ListedTool,
  link: ServerLink,
  { input, ctx }: Entered,
): Promise<CallToolResult | { readonly error: string }> {
  const { connection } = link;
  if (connection === undefined) {
    return { error: `The MCP server ${name} is not running: nothing was run. It is started again.` };
  }
  const { signal } = ctx;
  try {
    return await connection.call(listed.name, input, {
      signal,
      onProgress: ({ progress, total, message }) => {
        const part = total === undefined ? String(progress) : `${progress} of ${total}`;
        ctx.progress(message === undefined ? part : `${part}: ${message}`);
      },
    });
  } catch (error) {
    signal.throwIfAborted();
    if (connection.faultOf(error) === 'refused') return { error: refusal(error) };
    link.lost(connection);
    return {
      error: `The MCP server ${name} was lost while it worked on this call. What it did is unknown. It is started again.`,
    };
  }
}

function refusal(error: unknown): string {
  return safeData(error instanceof Error ? error.message : String(error));
}

/** What is wrong with structured content, where the server says how it looks. The schema is compiled at its first use. */
function structuredCheck({
  name,
  outputSchema,
}: ListedTool): (value: unknown) => Promise<string | undefined> {
  let compiling: Promise<SchemaValidator | undefined> | undefined;
  return async (value) => {
    if (outputSchema === undefined) return undefined;
    if (value === undefined) return `${safeName(name)} answered without the structured content it promises.`;
    // It came as JSON.
    const schema = outputSchema as unknown as JsonObject;
    // A schema that cannot be read promises nothing.
    compiling ??= compileSchema(schema, schema).catch(() => undefined);
    const issues = (await compiling)?.check(structuredClone(value)) ?? [];
    if (issues.length === 0) return undefined;
    return `The structured content of ${safeName(name)} does not fit its schema: ${issuesText(issues)}`;
  };
}
