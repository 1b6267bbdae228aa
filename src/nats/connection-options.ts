import { SwarmError } from '../errors.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';

/** Who a connection is; the later ones are the safer ones. */
export type NatsAuth =
  | { readonly token: string }
  | { readonly user: string; readonly password: string }
  /** Seed of an nkey. */
  | { readonly nkeySeed: string }
  /** Text of a credentials file (a JWT and its seed). */
  | { readonly credentials: string };

/** How the connection is encrypted; paths of PEM files. `{}` = by the certificates the system trusts. */
export interface NatsTls {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** The server expects TLS before it says anything. */
  readonly handshakeFirst?: boolean;
}

/** Options of `connectNats`. */
export interface NatsOptions {
  /** Addresses of the cluster. May hold `user:password@` or `token@`. Default `nats://127.0.0.1:4222`. */
  readonly servers?: string | readonly string[];
  readonly auth?: NatsAuth;
  readonly tls?: NatsTls;
  /** Lets a connection beyond this machine go without TLS. Default false. */
  readonly allowInsecure?: boolean;
  /** What the server calls the connection. Default `swarmwright`. */
  readonly name?: string;
  /** First tokens of the subjects of answers. Default `_INBOX_<user>` for a user with a password, else `_INBOX`. */
  readonly inboxPrefix?: string;
}

/** Options that were checked. The addresses hold no secret. */
export interface ResolvedNatsOptions {
  readonly servers: readonly string[];
  readonly auth: NatsAuth | undefined;
  readonly tls: NatsTls | undefined;
  readonly name: string;
  readonly inboxPrefix: string;
}

const OPTIONS: OptionNames<NatsOptions> = {
  servers: true,
  auth: true,
  tls: true,
  allowInsecure: true,
  name: true,
  inboxPrefix: true,
};

const TLS_OPTIONS: OptionNames<NatsTls> = {
  caFile: true,
  certFile: true,
  keyFile: true,
  handshakeFirst: true,
};

const DEFAULT_SERVER = 'nats://127.0.0.1:4222';
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i;
const INBOX = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;

/**
 * Checks options and takes the secrets out of addresses.
 * @throws SwarmError 'invalid-definition', 'nats-insecure'; no message holds an address with its secrets
 */
export function resolveNatsOptions(options: NatsOptions | string): ResolvedNatsOptions {
  const given = typeof options === 'string' ? { servers: options } : options;
  assertOptions('connectNats', given, OPTIONS);
  if (given.tls !== undefined) assertOptions('tls', given.tls, TLS_OPTIONS);
  const { servers = DEFAULT_SERVER, tls, allowInsecure = false, name = 'swarmwright' } = given;
  const list = typeof servers === 'string' ? servers.split(',') : servers;
  const parsed = list.map((server) => parseServer(server.trim()));
  if (parsed.length === 0) throw new SwarmError('invalid-definition', 'servers names no server');
  const auth = given.auth ?? parsed.find((server) => server.auth !== undefined)?.auth;
  const isEncrypted = tls !== undefined || parsed.every(({ isTls }) => isTls);
  const far = parsed.find(({ host }) => !LOOPBACK.test(host));
  if (far !== undefined && !isEncrypted && !allowInsecure) {
    throw new SwarmError(
      'nats-insecure',
      `${far.address} is not this machine: begin its address with tls:, or give \`tls\`; on a network that nobody else is ` +
        'on, say allowInsecure (--allow-insecure)',
    );
  }
  const inboxPrefix = given.inboxPrefix ?? inboxOf(auth);
  if (!INBOX.test(inboxPrefix)) {
    throw new SwarmError('invalid-definition', 'inboxPrefix is tokens of A-Z, a-z, 0-9, _ and -');
  }
  return {
    servers: parsed.map(({ address }) => address),
    auth,
    tls: tls ?? (isEncrypted ? {} : undefined),
    name,
    inboxPrefix,
  };
}

interface ParsedServer {
  readonly address: string;
  readonly host: string;
  readonly isTls: boolean;
  readonly auth: NatsAuth | undefined;
}

function parseServer(server: string): ParsedServer {
  const withScheme = /^[a-z]+:\/\//i.test(server) ? server : `nats://${server}`;
  if (!URL.canParse(withScheme)) throw noAddress(server);
  const { protocol, hostname, port, username, password } = new URL(withScheme);
  if (protocol !== 'nats:' && protocol !== 'tls:') {
    throw new SwarmError('invalid-definition', `a NATS address begins with nats: or tls:, not ${protocol}`);
  }
  if (hostname === '') throw noAddress(server);
  const host = `${hostname}:${port === '' ? '4222' : port}`;
  return { address: host, host: hostname, isTls: protocol === 'tls:', auth: authOf(username, password) };
}

/** What stands before the last `@` may be a secret. */
function noAddress(server: string): SwarmError {
  const shown = JSON.stringify(server.slice(server.lastIndexOf('@') + 1));
  return new SwarmError(
    'invalid-definition',
    `${shown} is no address of a server, as is nats://127.0.0.1:4222`,
  );
}

function authOf(username: string, password: string): NatsAuth | undefined {
  if (username === '') return undefined;
  const user = decoded(username);
  return password === '' ? { token: user } : { user, password: decoded(password) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw undecodable(error);
  }
}

function undecodable(cause: unknown): SwarmError {
  return new SwarmError('invalid-definition', 'a % in the user or password of an address is written %25', {
    cause,
  });
}

/** A prefix for each user, so that none reads the answers to another. */
function inboxOf(auth: NatsAuth | undefined): string {
  return auth !== undefined && 'user' in auth && INBOX.test(auth.user) ? `_INBOX_${auth.user}` : '_INBOX';
}

/** Shorter ones would blank half of every message, and protect nothing. */
const MIN_SECRET_CHARS = 4;

/** The texts of an `auth` that must be in no message. */
export function secretsOf(auth: NatsAuth | undefined): readonly string[] {
  return textsOf(auth).filter((text) => text.length >= MIN_SECRET_CHARS);
}

function textsOf(auth: NatsAuth | undefined): readonly string[] {
  if (auth === undefined) return [];
  if ('token' in auth) return [auth.token];
  if ('password' in auth) return [auth.password];
  return 'nkeySeed' in auth ? [auth.nkeySeed] : [auth.credentials];
}
