import { Option } from 'commander';
import type { NatsClient } from '../nats/client.ts';

/** Options of every command that talks to NATS. */
export interface NatsCommandOptions {
  readonly nats: string;
  readonly ns: string;
  readonly allowInsecure?: boolean;
}

/** `--nats URL`, said the same way in every command. */
export function natsOption(description = 'NATS server; may hold user:password@'): Option {
  return new Option('--nats <url>', description).env('SWARMWRIGHT_NATS');
}

/** `--ns NAME`, said the same way in every command. */
export function namespaceOption(): Option {
  return new Option('--ns <name>', 'tenant or environment on the bus')
    .env('SWARMWRIGHT_NS')
    .default('default');
}

/** `--allow-insecure`, said the same way in every command. */
export function insecureOption(): Option {
  return new Option('--allow-insecure', 'go without TLS beyond this machine');
}

const CONNECT_MS = 5_000;

/**
 * Opens a connection for a command, and closes it.
 * @throws SwarmError 'nats-unavailable' where no server answers in time
 */
export async function withNats<T>(
  options: Omit<NatsCommandOptions, 'ns'>,
  use: (client: NatsClient) => Promise<T>,
): Promise<T> {
  // Loaded when it is needed: no other command waits for it.
  const { connectNats } = await import('../nats/client.ts');
  const allowInsecure = options.allowInsecure === true;
  await using client = connectNats({ servers: options.nats, name: 'swarmwright-cli', allowInsecure });
  await client.connected(AbortSignal.timeout(CONNECT_MS));
  return await use(client);
}
