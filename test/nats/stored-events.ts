import type { RunEvent } from '../../src/events/event-schemas.ts';
import { connectNats } from '../../src/nats/client.ts';
import { readJson } from '../../src/nats/jet-stream-api.ts';
import { readAllStored } from '../../src/nats/stored-events.ts';

/** All events of a namespace that are stored by now, in the order of the stream. */
export async function storedEvents(
  url: string,
  filter = 'swm.v1.default.evt.>',
): Promise<readonly RunEvent[]> {
  await using client = connectNats(url);
  const signal = AbortSignal.timeout(60_000);
  await client.connected(signal);
  const events: RunEvent[] = [];
  for await (const { data } of readAllStored(client, filter, signal)) {
    // What the sink under test wrote; the tests look whether it is what they expect.
    events.push(readJson(data) as RunEvent);
  }
  return events;
}
