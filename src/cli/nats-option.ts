import { Option } from 'commander';
import { isSwarmError, SwarmError } from '../errors.ts';
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

/** Users of `nats.conf`: one for each thing that may be done. */
export type NatsUser = 'provisioner' | 'worker' | 'observer' | 'operator' | 'approver';

/**
 * Opens a connection for a command, and closes it. `user` is who may do in `nats.conf` what it does.
 * @throws SwarmError 'nats-unavailable' where no server answers in time, and what `use` throws; where the server refuses
 * who signs in, it says who is to
 */
export function withNats<T>(
  options: Omit<NatsCommandOptions, 'ns'>,
  user: NatsUser,
  use: (client: NatsClient) => Promise<T>,
): Promise<T> {
  return advising(user, () => connect(options, use));
}

/** Does what `user` may do in `nats.conf`. @throws what `act` throws; where the server refuses, it says who may */
export async function advising<T>(user: NatsUser, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw isSwarmError(error) && REFUSED.test(error.message) ? withAdvice(error, user) : error;
  }
}

/** What a server says of a user it does not know, and of one who may not do that. */
const REFUSED = /authorization violation|permissions violation/i;

function withAdvice(error: SwarmError, user: NatsUser): SwarmError {
  const advice = `nats://${user}:PASSWORD@HOST signs in as who may do this in nats.conf`;
  return new SwarmError(error.code, `${error.message}; ${advice}`, { cause: error });
}

async function connect<T>(
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
