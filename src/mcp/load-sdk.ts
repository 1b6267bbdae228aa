import { createRequire } from 'node:module';
import { SwarmError } from '../errors.ts';

const PACKAGE = '@modelcontextprotocol/client';

/** The client library of the protocol. */
export type McpSdk = typeof import('@modelcontextprotocol/client');

/** Loads the library at the first use of the process. */
export function loadSdk(): Promise<McpSdk> {
  return import('@modelcontextprotocol/client');
}

/** The version of this package, which servers are told. */
export function ownVersion(): string {
  const own: { readonly version: string } = createRequire(import.meta.url)('swarmwright/package.json');
  return own.version;
}

/** Tells early, where a definition is made, that the library is missing. @throws SwarmError 'mcp-client-missing' */
export function assertSdkInstalled(): void {
  try {
    createRequire(import.meta.url).resolve(PACKAGE);
  } catch (error) {
    throw missingSdk(error);
  }
}

function missingSdk(cause: unknown): SwarmError {
  return new SwarmError('mcp-client-missing', `mcpServer needs ${PACKAGE}: npm install ${PACKAGE}`, {
    cause,
  });
}
