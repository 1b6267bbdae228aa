import type { Sink } from 'swarmwright';
import { connectNats, natsSink, provision } from 'swarmwright/nats';
import { startOwnServer } from './own-server.ts';

/** Where events of an example go besides its own terminal. */
export interface Bus extends AsyncDisposable {
  readonly sinks: readonly Sink[];
  readonly url: string | undefined;
  /** What to tell the person at the terminal. */
  readonly description: string;
}

/** The server that SWARMWRIGHT_NATS names, else one of its own for as long as the example runs, else none. */
export async function openBus(env: NodeJS.ProcessEnv): Promise<Bus> {
  const named = env['SWARMWRIGHT_NATS'];
  const own = named === undefined || named === '' ? await startOwnServer() : undefined;
  const url = own?.url ?? named;
  if (url === undefined || url === '') {
    const description =
      'Events: on no bus; scripts/nats-server.sh fetches a nats-server, and one in PATH is used too';
    return { sinks: [], url: undefined, description, [Symbol.asyncDispose]: async () => {} };
  }
  if (own !== undefined) {
    await using admin = connectNats(url);
    await provision(admin);
  }
  return {
    sinks: [natsSink({ connection: url })],
    url,
    description: `Events: npm run -s example -- examples/subscriber.ts ${withoutSecret(url)}`,
    async [Symbol.asyncDispose]() {
      await own?.[Symbol.asyncDispose]();
    },
  };
}

/** An address that may stand in a terminal. */
function withoutSecret(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//USER:PASSWORD@');
}
