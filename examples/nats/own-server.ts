import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A nats-server that lives as long as this process. */
export interface OwnServer extends AsyncDisposable {
  readonly url: string;
}

/** Ends the server when standard input ends, which it does however this process ends. */
const KEEPER = '"$0" "$@" & server=$!; read -r _; kill -KILL $server';

const STARTS_WITHIN_MS = 10_000;

/** Starts a server on a free port of this machine; undefined where there is none to start. */
export async function startOwnServer(): Promise<OwnServer | undefined> {
  const binary = findServer();
  if (binary === undefined || process.platform === 'win32') return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'swarmwright-nats-'));
  const conf = join(folder, 'nats.conf');
  writeFileSync(conf, `jetstream { store_dir: ${JSON.stringify(folder)}, max_file_store: 32GB }\n`);
  const flags = ['-c', conf, '--addr', '127.0.0.1', '--port', '-1', '--ports_file_dir', folder];
  const child = spawn('sh', ['-c', KEEPER, binary, ...flags], { stdio: ['pipe', 'ignore', 'ignore'] });
  const close = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.stdin.end();
      await gone;
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const url = await urlIn(folder);
  if (url !== undefined) return { url, [Symbol.asyncDispose]: close };
  await close();
  return undefined;
}

/** `NATS_SERVER_BIN`, PATH, then what scripts/nats-server.sh fetched. */
function findServer(): string | undefined {
  const named = process.env['NATS_SERVER_BIN'];
  if (named !== undefined && named !== '') return existsSync(named) ? named : undefined;
  const inPath = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'nats-server'));
  const fetched = fileURLToPath(new URL('../../.cache/nats/current/nats-server', import.meta.url));
  return [...inPath, fetched].find((path) => existsSync(path) && spawnSync(path, ['--version']).status === 0);
}

async function urlIn(folder: string): Promise<string | undefined> {
  for (const deadline = Date.now() + STARTS_WITHIN_MS; Date.now() < deadline; ) {
    const ports = readdirSync(folder).find((name) => name.endsWith('.ports'));
    const text = ports === undefined ? '' : readFileSync(join(folder, ports), 'utf8');
    // Whole once it has its last brace.
    if (text.trimEnd().endsWith('}')) {
      const { nats }: { nats: string[] } = JSON.parse(text);
      return nats[0];
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return undefined;
}
