import type { Client, JsonSchemaValidator } from '@modelcontextprotocol/client';
import type { JsonObject } from '../ledger/content.ts';
import { safeText } from '../tools/safe-text.ts';
import { type McpSdk, ownVersion } from './load-sdk.ts';
import type { ServerSpec } from './server-options.ts';

/** What a client does on its own account. */
export interface ClientBehaviour {
  /** Shakes hands the older way, without asking for the newer one. */
  readonly isLegacy: boolean;
  onListChanged(): void;
}

/** A client that is not connected yet: it can do what the user configured for the server, and nothing else. */
export function newClient(sdk: McpSdk, spec: ServerSpec, behaviour: ClientBehaviour): Client {
  const { limits, elicit, sample } = spec;
  const client = new sdk.Client(
    { name: 'swarmwright', version: ownVersion() },
    {
      capabilities: {
        ...(elicit === undefined ? {} : { elicitation: { form: { applyDefaults: true } } }),
        ...(sample === undefined ? {} : { sampling: {} }),
      },
      versionNegotiation: {
        mode: behaviour.isLegacy ? 'legacy' : 'auto',
        probe: { timeoutMs: limits.probeMs },
      },
      listMaxPages: limits.maxListPages,
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 0, onChanged: () => behaviour.onListChanged() },
      },
      // Schemas of a server are not compiled into code here; results are checked where they are taken in.
      jsonSchemaValidator: { getValidator: acceptAny },
    },
  );
  answerElicitations(client, spec);
  answerSamplings(sdk, client, spec);
  return client;
}

/** Nothing is looked at: a value is whatever the caller takes it for. */
function acceptAny<T>(): JsonSchemaValidator<T> {
  return (value) => ({ valid: true, data: value as T, errorMessage: undefined });
}

/** Without somebody who answers, the server is told that this cannot be asked. */
function answerElicitations(client: Client, { name, elicit, limits }: ServerSpec): void {
  if (elicit === undefined) return;
  let open = 0;
  client.setRequestHandler('elicitation/create', async ({ params }, ctx) => {
    if (params.mode === 'url' || open >= limits.maxRequests) return { action: 'decline' };
    open += 1;
    try {
      const request = {
        server: name,
        message: safeText(params.message),
        // It came as JSON.
        schema: params.requestedSchema as unknown as JsonObject,
      };
      const answer = await elicit(request, { signal: ctx.mcpReq.signal });
      return answer.action === 'accept'
        ? { action: 'accept', content: mutable(answer.content) }
        : { action: answer.action };
    } finally {
      open -= 1;
    }
  });
}

function answerSamplings(sdk: McpSdk, client: Client, { name, sample, limits }: ServerSpec): void {
  if (sample === undefined) return;
  let open = 0;
  client.setRequestHandler('sampling/createMessage', async ({ params }, ctx) => {
    if (open >= limits.maxRequests) {
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, 'too many requests at once');
    }
    open += 1;
    try {
      const request = { server: name, params: params as unknown as JsonObject };
      const { model, text } = await sample(request, { signal: ctx.mcpReq.signal });
      return { model, role: 'assistant', content: { type: 'text', text } };
    } finally {
      open -= 1;
    }
  });
}

function mutable(content: Readonly<Record<string, string | number | boolean | readonly string[]>>) {
  return Object.fromEntries(
    Object.entries(content).map(([key, value]) => [key, Array.isArray(value) ? [...value] : value]),
  ) as Record<string, string | number | boolean | string[]>;
}
