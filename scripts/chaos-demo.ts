// `npm run demo:chaos`: a swarm on three workers, which are killed while it runs, and their broker too. Counts on
// screen what was lost and what was done twice, and ends by itself: 0 when nothing was, 2 without a nats-server.
import { spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serveBusPage } from '../src/inspect/bus-page.ts';
import { type DemoEnd, runDemo } from '../test/chaos/demo.ts';
import { findNatsServer } from '../test/support/nats-server.ts';

const USAGE = `npm run demo:chaos -- [--seconds N] [--seed N] [--no-page]

  --seconds N   how long things go wrong (default 30; all ends a little later)
  --seed N      the same faults again
  --no-page     without the inspector page`;

const FETCH = fileURLToPath(new URL('./nats-server.sh', import.meta.url));

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** A whole number from 1 on, or undefined. */
function whole(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && Number.isInteger(value) && value >= 1 ? value : undefined;
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: 'string', default: '30' },
        seed: { type: 'string', default: String(randomInt(1, 1_000_000)) },
        'no-page': { type: 'boolean', default: false },
      },
    });
    const [seconds, seed] = [whole(values.seconds), whole(values.seed)];
    return seconds === undefined || seed === undefined
      ? undefined
      : { seconds, seed, hasPage: !values['no-page'] };
  } catch {
    return undefined;
  }
}

/** Fetches a server where there is none. */
function hasServer(): boolean {
  if (findNatsServer() !== undefined) return true;
  say('no nats-server here: fetching one');
  const { status } = spawnSync(FETCH, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status === 0 && findNatsServer() !== undefined) return true;
  say('This needs nats-server 2.12 or later: put it into PATH, or name it by NATS_SERVER_BIN.');
  return false;
}

async function main(): Promise<number> {
  const options = readOptions();
  if (options === undefined) {
    say(USAGE);
    return 2;
  }
  if (!hasServer()) return 2;
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  const end = await runDemo({
    ...options,
    signal: stopped.signal,
    ...screen(),
    ...(options.hasPage ? { openPage } : {}),
  });
  return EXIT_CODES[end];
}

/** Lines for good go above the one that changes; where nobody looks it changes seldom, each time a line of its own. */
function screen() {
  const { stdout } = process;
  let shows = 0;
  return {
    say: (line: string) => say(stdout.isTTY ? `\r\x1b[2K${line}` : line),
    show(line: string) {
      shows += 1;
      if (stdout.isTTY) stdout.write(`\r\x1b[2K${line}`);
      else if (shows % 4 === 1) say(line);
    },
  };
}

const EXIT_CODES: Readonly<Record<DemoEnd, number>> = { clean: 0, broken: 1, stopped: 130 };

/** The page over the bus, as `swarmwright inspect --nats` serves it. */
async function openPage(connection: Parameters<typeof serveBusPage>[0]['connection'], ns: string) {
  const page = await serveBusPage({ connection, ns, token: randomBytes(18).toString('base64url') });
  say(`The page: ${page.url}`);
  return page;
}

process.exitCode = await main();
