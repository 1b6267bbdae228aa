import { expect, it } from 'vitest';
import { z } from 'zod';
import type { RunEvent } from '../../src/events/event-schemas.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { subscribe } from '../../src/nats/subscribe.ts';
import { until } from '../nats/bus.ts';
import { isNatsMissing } from '../support/nats-server.ts';
import { agentsOf } from './agents.ts';
import { attendTo } from './person.ts';
import { type Pool, startPool } from './pool.ts';

/** Events after which somebody else attaches. */
const MIDDLE = 10;

const ids = (events: readonly RunEvent[]) => events.map(({ id }) => id);

const consumersSchema = z.object({
  consumers: z.array(z.object({ config: z.object({ inactive_threshold: z.number().optional() }) })),
});

interface Reading {
  readonly events: readonly RunEvent[];
  readonly gaps: number;
}

/** What a subscriber is given; `middle` is told the place of the event that stands there. */
function read(
  { client, ns }: Pool,
  from: 'start' | { readonly after: number },
  signal: AbortSignal,
  middle?: (sequence: number) => void,
): { readonly reading: Reading; readonly ended: Promise<void> } {
  const reading = { events: [] as RunEvent[], gaps: 0 };
  const follow = async () => {
    for await (const item of subscribe({ connection: client, ns, from, signal })) {
      if (item.type === 'gap') reading.gaps += 1;
      else if (reading.events.push(item.event) === MIDDLE) middle?.(item.sequence);
    }
  };
  return { reading, ended: follow() };
}

it.skipIf(isNatsMissing())(
  'T27 whoever attaches in the middle is given all from there on, through deaths of worker and broker',
  { timeout: 120_000 },
  async () => {
    await using pool = await startPool({ workers: 2, leaseSeconds: 2, ns: 'attached' });
    const { client: connection, ns, leaseMs, world, workers, server } = pool;
    const targetOf = () => 'lead';
    const agents = () => agentsOf(world);
    await using person = await attendTo({ connection, ns, leaseMs, agents, targetOf, doubt: 'abandon' });
    const stop = new AbortController();
    const attached = Promise.withResolvers<number>();
    const bus = read(pool, 'start', stop.signal, attached.resolve);
    const run = person.runtime.run('lead', 'children t27', { sessionId: 's-t27' });
    const seen: RunEvent[] = [];
    const later: RunEvent[] = [];
    const follow = async (events: AsyncIterable<RunEvent>, into: RunEvent[]) => {
      for await (const event of events) into.push(event);
    };
    const first = follow(run.events({ tree: true, from: 0 }), seen);
    const late = read(pool, { after: await attached.promise }, stop.signal);
    await until(() => seen.length >= MIDDLE, 'the middle of the run');
    const second = follow(run.events({ tree: true, from: seen[MIDDLE - 1]?.cursor ?? 0 }), later);

    await Promise.all(workers.map((worker) => worker.kill()));
    await server.kill();
    await server.start();
    await Promise.all(workers.map((worker) => worker.start()));

    await until(() => person.told.has('s-t27'), 'the end of the run');
    await Promise.all([first, second]);
    await until(() => bus.reading.events.length >= seen.length, 'the last event on the bus');
    await until(() => late.reading.events.length >= seen.length - MIDDLE, 'the last event of the other');
    stop.abort();
    await Promise.all([bus.ended, late.ended]);
    expect(ids(later)).toEqual(ids(seen).slice(MIDDLE));
    expect(new Set(ids(seen)).size).toBe(seen.length);
    expect(ids(bus.reading.events).sort()).toEqual(ids(seen).sort());
    expect(ids(late.reading.events)).toEqual(ids(bus.reading.events).slice(MIDDLE));
    expect([bus.reading.gaps, late.reading.gaps]).toEqual([0, 0]);
    // Those that went with the broker go by themselves.
    const left = await askJetStream(connection, 'CONSUMER.LIST.SWM_EVT');
    const kept = left.type === 'answer' ? consumersSchema.parse(left.body).consumers : [];
    expect(kept.filter(({ config }) => (config.inactive_threshold ?? 0) === 0)).toEqual([]);
  },
);
