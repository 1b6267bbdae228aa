import type { Transport } from '@modelcontextprotocol/client';
import { boundedFetch, isStanding } from './bounded-fetch.ts';
import type { McpSdk } from './load-sdk.ts';
import { ProcessTransport } from './process-transport.ts';
import type { HttpServerOptions, ServerSpec, StdioServerOptions } from './server-options.ts';

/** The way to a server: its program, or its address. */
export interface ServerWay {
  readonly transport: Transport;
  /** Resolves once the server can tell of changes, or has said that it will not. */
  readonly listening: Promise<void>;
}

/** A way to the server that nothing has gone yet. */
export function wayTo(sdk: McpSdk, spec: ServerSpec): ServerWay {
  if ('url' in spec) return httpWay(sdk, spec);
  return { transport: processTransport(sdk, spec), listening: Promise.resolve() };
}

function httpWay(sdk: McpSdk, spec: ServerSpec & HttpServerOptions): ServerWay {
  const { headers = {}, limits } = spec;
  const headersOf = async () => (typeof headers === 'function' ? headers() : headers);
  const bounded = boundedFetch(headersOf, limits.maxMessageBytes);
  const listening = Promise.withResolvers<void>();
  const transport = new sdk.StreamableHTTPClientTransport(new URL(spec.url), {
    async fetch(url, init) {
      try {
        return await bounded(url, init);
      } finally {
        if (isStanding(init?.method, new Headers(init?.headers))) listening.resolve();
      }
    },
  });
  // The class declares `sessionId` as it is set, the interface as it may be absent.
  return { transport: transport as Transport, listening: listening.promise };
}

/** Variables that programs cannot do without, and none that may hold a secret. */
const NEEDED = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'TMPDIR', 'LANG'];

function processTransport(sdk: McpSdk, spec: ServerSpec & StdioServerOptions): Transport {
  const { command, args = [], env = {}, inheritEnv = [], cwd, stderr = 'ignore', limits } = spec;
  const { maxMessageBytes, closeMs } = limits;
  const inherited = [...NEEDED, ...inheritEnv].flatMap((key) => {
    const value = process.env[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  const all = { ...Object.fromEntries(inherited), ...env };
  return new ProcessTransport(sdk, { command, args, env: all, cwd, stderr, maxMessageBytes, closeMs });
}
