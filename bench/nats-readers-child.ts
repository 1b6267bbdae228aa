import { connectNats } from '../src/nats/client.ts';
import { readStored } from '../src/nats/stored-events.ts';

// Services that read along, in a process of their own: as many ordered consumers as it is told, until it is ended.
const [url = '', readers = '1'] = process.argv.slice(2);
const client = connectNats(url);
const never = new AbortController().signal;
await client.connected(AbortSignal.timeout(10_000));
for (let reader = 0; reader < Number(readers); reader++) {
  void (async () => {
    for await (const _ of readStored(client, '>', { type: 'sequence', sequence: 1 }, never)) {
      // Its pace is that of the process.
    }
  })();
}
process.send?.('reading');
