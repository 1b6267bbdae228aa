import type { Transport } from '@modelcontextprotocol/client';
import { boundedFetch } from './bounded-fetch.ts';
import type { McpSdk } from './load-sdk.ts';
import { ProcessTransport } from './process-transport.ts';
import type { HttpServerOptions, ServerSpec, StdioServerOptions } from './server-options.ts';

/** The way to a server: its program, or its address. */
export function transportOf(sdk: McpSdk, spec: ServerSpec): Transport {
  return 'url' in spec ? httpTransport(sdk, spec) : processTransport(sdk, spec);
}

function httpTransport(sdk: McpSdk, spec: ServerSpec & HttpServerOptions): Transport {
  const { headers = {}, limits } = spec;
  const headersOf = async () => (typeof headers === 'function' ? headers() : headers);
  const transport = new sdk.StreamableHTTPClientTransport(new URL(spec.url), {
    fetch: boundedFetch(headersOf, limits.maxMessageBytes),
  });
  // The class declares `sessionId` as it is set, the interface as it may be absent.
  return transport as Transport;
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
