import { SwarmError } from '../errors.ts';
import { connectNats, NatsClient } from './client.ts';
import type { NatsOptions } from './connection-options.ts';

/** A connection that others use too and close, or how to make one. */
export type Connection = NatsClient | NatsOptions | string;

/**
 * The connection, and whether who asked for it has to close it.
 * @throws SwarmError 'invalid-definition', 'nats-insecure'
 */
export function openConnection(connection: Connection): {
  readonly client: NatsClient;
  readonly isOwn: boolean;
} {
  if (connection instanceof NatsClient) return { client: connection, isOwn: false };
  // The types demand one, JavaScript does not: the default server is for who names none on purpose.
  const given: Connection | undefined = connection;
  if (given === undefined) throw new SwarmError('invalid-definition', 'connection is missing');
  return { client: connectNats(given), isOwn: true };
}
