import { connectNats } from '../src/nats/client.ts';
import { machineMs } from './machine-clock.ts';

// A bare consumer of a work queue, for what there is without a runtime: NATS URL, stream, consumer, places. It pulls one
// message for each free place, as a worker does, acknowledges it, and tells when it came.

/** When a message came, in milliseconds of `machineMs`, by its text. */
export type Received = Readonly<Record<string, number>>;

const [url = '', stream = '', consumer = '', places = '4'] = process.argv.slice(2);
const client = connectNats(url);
await client.connected(AbortSignal.timeout(10_000));
const received: Record<string, number> = {};
const wanted = Buffer.from(JSON.stringify({ batch: 1, expires: 5_000_000_000 }));

/** One place: the next message is asked for when the one before is done. */
function openPlace(): void {
  const inbox = client.inbox();
  const ask = () =>
    client.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, wanted, { reply: inbox });
  client.subscribe(inbox, (message) => {
    // A status is that there was none in time.
    if (message.status === 0) {
      received[Buffer.from(message.data).toString()] = machineMs();
      message.respond(Buffer.from('+ACK'));
    }
    ask();
  });
  ask();
}

process.on('message', () => process.send?.(received));
process.once('disconnect', () => process.exit());
for (let at = 0; at < Number(places); at += 1) openPlace();
process.send?.('ready');
