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
  /** What its program wrote last to its standard error, as one line; empty for nothing, and over HTTP. */
  lastWords(): string;
}

/** A way to the server that nothing has gone yet. */
export function wayTo(sdk: McpSdk, spec: ServerSpec): ServerWay {
  if ('url' in spec) return httpWay(sdk, spec);
  const transport = processTransport(sdk, spec);
  return { transport, listening: Promise.resolve(), lastWords: () => transport.lastWords() };
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
  return { transport: transport as Transport, listening: listening.promise, lastWords: () => '' };
}

/** Variables that programs cannot do without, and none that may hold a secret. */
const NEEDED = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'TMPDIR', 'LANG'];

function processTransport(sdk: McpSdk, spec: ServerSpec & StdioServerOptions): ProcessTransport {
  const { command, args = [], env = {}, inheritEnv = [], cwd, stderr = 'ignore', limits } = spec;
  const { maxMessageBytes, closeMs } = limits;
  const given = { ...inherited(inheritEnv), ...env };
  return new ProcessTransport(sdk, {
    command,
    args,
    env: { ...inherited(NEEDED), ...given },
    secrets: Object.values(given),
    cwd,
    stderr,
    maxMessageBytes,
    closeMs,
  });
}

/** Variables of this process, as far as it has them. */
function inherited(names: readonly string[]): Readonly<Record<string, string>> {
  const found = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}
