import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** Oldest server that has everything: JetStream API level 2. */
const CURRENT = [2, 12] as const;

/** Passwords of the users of `nats.conf` in tests: their names. */
const PASSWORDS = Object.fromEntries(
  ['provisioner', 'worker', 'observer', 'operator', 'approver'].map((user) => [
    `SWM_${user.toUpperCase()}_PASSWORD`,
    user,
  ]),
);

export interface NatsServerOptions {
  /** `project` is the `nats.conf` of the repository; `plain` (default) is JetStream without users. */
  readonly conf?: 'plain' | 'project';
  /** Lines added to a plain one: who may connect, and how. */
  readonly more?: string;
  /** A plain one flushes before it acknowledges, as that of the project does. Default false. */
  readonly isFlushing?: boolean;
  /** Default `current`. `distribution` is the older one that the distribution itself has. */
  readonly version?: 'current' | 'distribution';
}

/** A nats-server of its own for a test file, in a process of its own. */
export interface NatsServer extends AsyncDisposable {
  /** `nats://127.0.0.1:PORT`, the same after a restart. */
  readonly url: string;
  /** `url` with the credentials of a user of `nats.conf`. */
  urlOf(user: string): string;
  readonly port: number;
  readonly pid: number;
  /** Ends it by SIGKILL, as a crash would; its files stay. */
  kill(): Promise<void>;
  /** Starts it again on the same port and files. */
  start(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  stall(): void;
  /** SIGCONT. */
  wake(): void;
  /** The end of its log. */
  log(): string;
}

const plainConf = (isFlushing: boolean) =>
  `jetstream { store_dir: $SWM_NATS_STORE, max_file_store: 32GB, max_memory_store: 256MB
   ${isFlushing ? 'sync_interval: always' : ''} }\n`;

/** Path of a server, or undefined where there is none. */
export function findNatsServer(version: 'current' | 'distribution' = 'current'): string | undefined {
  const cached = resolve('.cache/nats', version, 'nats-server');
  if (version === 'distribution') return existsSync(cached) ? cached : undefined;
  const named = process.env['NATS_SERVER_BIN'];
  if (named !== undefined && named !== '') return named;
  const inPath = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'nats-server'));
  return [...inPath.filter((path) => existsSync(path) && isCurrent(path)), cached].find(existsSync);
}

function isCurrent(path: string): boolean {
  const [, major = 0, minor = 0] = /v(\d+)\.(\d+)/.exec(String(spawnSync(path, ['--version']).stdout)) ?? [];
  const [least, leastMinor] = CURRENT;
  return Number(major) > least || (Number(major) === least && Number(minor) >= leastMinor);
}

/**
 * True where the tests of a file cannot run, for `describe.skipIf`; says so loudly.
 * @throws where `CI` is set: there a skipped test would be taken for a passed one
 */
export function isNatsMissing(version: 'current' | 'distribution' = 'current'): boolean {
  if (findNatsServer(version) !== undefined) return false;
  const words = `no nats-server (${version}): run scripts/nats-server.sh, or set NATS_SERVER_BIN`;
  if (process.env['CI'] === 'true') throw new Error(words);
  console.warn(`\n*** SKIPPED: ${words} ***\n`);
  return true;
}

/** Starts a server on a free port. */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const { conf = 'plain', version = 'current', more = '', isFlushing = false } = options;
  const binary = findNatsServer(version);
  if (binary === undefined) throw new Error(`no nats-server (${version})`);
  const folder = mkdtempSync(join(tmpdir(), 'swm-nats-'));
  const file = conf === 'project' ? resolve('nats.conf') : join(folder, 'nats.conf');
  if (conf === 'plain') writeFileSync(file, `${plainConf(isFlushing)}${more}\n`);
  let child: ChildProcess | undefined;
  let port = -1;
  const leave = () => {
    child?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', leave);

  const start = async () => {
    for (const stale of readdirSync(folder).filter((name) => name.endsWith('.ports'))) {
      rmSync(join(folder, stale));
    }
    const flags = ['--addr', '127.0.0.1', '--port', String(port), '--http_port', '-1'];
    const files = ['--ports_file_dir', folder];
    // A complaint about the configuration comes before there is a log.
    const output = openSync(join(folder, 'log'), 'a');
    child = spawn(binary, ['-c', file, ...flags, ...files], {
      stdio: ['ignore', output, output],
      env: { ...process.env, ...PASSWORDS, SWM_NATS_STORE: join(folder, 'store') },
    });
    closeSync(output);
    port = await readPort(folder, child);
  };
  const log = () => {
    const path = join(folder, 'log');
    return existsSync(path) ? readFileSync(path, 'utf8').slice(-2_000) : '';
  };
  const kill = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  try {
    await start();
  } catch (error) {
    const words = log();
    leave();
    throw new Error(`nats-server did not start: ${words}`, { cause: error });
  }
  return {
    get url() {
      return `nats://127.0.0.1:${port}`;
    },
    urlOf: (user) => `nats://${user}:${user}@127.0.0.1:${port}`,
    get port() {
      return port;
    },
    get pid() {
      return child?.pid ?? 0;
    },
    kill,
    start,
    stall: () => void child?.kill('SIGSTOP'),
    wake: () => void child?.kill('SIGCONT'),
    log,
    async [Symbol.asyncDispose]() {
      child?.kill('SIGCONT');
      await kill();
      process.off('exit', leave);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const STARTS_WITHIN_MS = 20_000;

/** The port it took, once its JetStream answers. */
async function readPort(folder: string, child: ChildProcess): Promise<number> {
  const deadline = Date.now() + STARTS_WITHIN_MS;
  while (Date.now() < deadline && child.exitCode === null) {
    const ports = readdirSync(folder).find((name) => name.endsWith(`_${child.pid}.ports`));
    const read = ports === undefined ? undefined : parsePorts(readFileSync(join(folder, ports), 'utf8'));
    if (read !== undefined && (await isHealthy(read.monitoring))) return read.nats;
    await wait(10);
  }
  throw new Error(child.exitCode === null ? 'it did not become healthy' : `it exited with ${child.exitCode}`);
}

/** `undefined` while the file is not whole. */
function parsePorts(text: string): { readonly nats: number; readonly monitoring: string } | undefined {
  try {
    const { nats, monitoring }: { nats?: string[]; monitoring?: string[] } = JSON.parse(text);
    const [client] = nats ?? [];
    const [http] = monitoring ?? [];
    if (client === undefined || http === undefined) return undefined;
    return { nats: Number(new URL(client).port), monitoring: http };
  } catch {
    return undefined;
  }
}

async function isHealthy(monitoring: string): Promise<boolean> {
  const { port } = new URL(monitoring);
  const answer = await fetch(`http://127.0.0.1:${port}/healthz?js-enabled-only=true`).catch(() => undefined);
  return answer?.ok === true;
}
