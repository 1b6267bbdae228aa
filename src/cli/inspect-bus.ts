import { once } from 'node:events';
import type { NatsClient } from '../nats/client.ts';
import type { Cli } from './cli.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { advising } from './nats-option.ts';
import { createToken } from './open-page.ts';

/** Which bus, and where to serve. */
interface BusChoice {
  readonly nats: string;
  readonly ns?: string;
  readonly allowInsecure?: boolean;
  readonly port?: number;
}

/** Shows what is on a bus in a page of this machine, until Ctrl-C or until the bus can be read no more. */
export async function inspectBus(
  cli: Cli,
  { nats, ns = 'default', allowInsecure = false, port }: BusChoice,
): Promise<ExitCode> {
  // Loaded when it is needed: no other command waits for it.
  const { connectNats } = await import('../nats/client.ts');
  const { serveBusPage } = await import('../inspect/bus-page.ts');
  await using client = connectNats({ servers: nats, name: 'swarmwright-inspect', allowInsecure });
  const token = createToken();
  const place = port === undefined ? {} : { port };
  await using page = await serveBusPage({ connection: client, ns, token, ...place });
  await cli.err.say(`The page: ${page.url}`);
  await cli.err.say('Ctrl-C ends.');
  const forget = tellConnection(cli, client);
  // A page keeps no process alive; whoever called for it wants to look at it.
  const alive = setInterval(() => undefined, 60_000);
  try {
    await advising('observer', () => Promise.race([once(process, 'SIGINT'), page.ended]));
  } finally {
    forget();
    clearInterval(alive);
  }
  return EXIT.completed;
}

/** The page of a bus that cannot be reached is as empty as that of one on which nothing happens. */
function tellConnection(cli: Cli, client: NatsClient): () => void {
  let isTold = false;
  const tell = () => {
    const { type, message } = client.state;
    if (type !== 'connected' && type !== 'down') return;
    if (isTold === (type === 'down')) return;
    isTold = !isTold;
    const why = message === undefined ? '' : `: ${message}`;
    void cli.err.say(
      isTold
        ? `${client.address} is not reached${why}; it is tried again`
        : `${client.address} is reached again`,
    );
  };
  tell();
  return client.watch(tell);
}
