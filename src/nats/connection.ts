import { connectNats, NatsClient } from './client.ts';
import type { NatsOptions } from './connection-options.ts';

/** A connection that others use too and close, or how to make one. */
export type Connection = NatsClient | NatsOptions | string;

/** The connection, and whether who asked for it has to close it. */
export function openConnection(connection: Connection): {
  readonly client: NatsClient;
  readonly isOwn: boolean;
} {
  if (connection instanceof NatsClient) return { client: connection, isOwn: false };
  return { client: connectNats(connection), isOwn: true };
}
