import { createRuntime, defineAgent, defineTool, memoryLedger } from 'swarmwright';
import { type NatsSinkOptions, natsSink, subscribe } from 'swarmwright/nats';
import { reply, scriptedModel } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseEvent, type RunEvent } from '../../src/events/event-schemas.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { clientOf, faultsIn, feed, startBus } from './bus.ts';
import { storedEvents } from './stored-events.ts';

const SECRET = 'sk-proj-Zx81kQpLm29sVtYw47BnRc63';
const SAID = 'the harbour is closed';

/** One turn with a tool that says something, something secret, and a great deal. */
async function playedOn(server: NatsServer, options: Partial<NatsSinkOptions> = {}, outputChars = 10) {
  const ledger = memoryLedger();
  const sink = natsSink({ connection: server.url, ...options });
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    inputSchema: z.object({ at: z.string(), note: z.string() }),
    maxResultBytes: 1_000,
    execute: () => `${SAID} ${SECRET} ${'x'.repeat(outputChars)}`,
  });
  const model = scriptedModel({
    script: [reply().call('look', { at: SAID, note: SECRET }), reply().text(`Done: ${SAID}.`)],
  });
  const agent = defineAgent({ name: 'looker', instructions: 'Look.', model, tools: [look] });
  const runtime = createRuntime({ ledger, sinks: [sink] });
  const run = runtime.run(agent, `Look: ${SAID} ${SECRET}`);
  const result = await run.result;
  await runtime.close({ drainMs: 10_000 });
  return { run, result, sink, events: await storedEvents(server.url) };
}

function onlyOf<T extends RunEvent['type']>(events: readonly RunEvent[], type: T) {
  const found = events.find((event) => event.type === type);
  if (found === undefined) throw new Error(`no ${type}`);
  // Its type was just looked at.
  return found as Extract<RunEvent, { type: T }>;
}

describe.skipIf(isNatsMissing())('what events say on the bus', () => {
  it('XC-02 every event of a run names session, root, turn and place, and is linked to the one before', async () => {
    const server = await startBus();
    const { run, events } = await playedOn(server);
    expect(events.length).toBeGreaterThan(8);
    expect(faultsIn(events)).toEqual({ repeated: 0, missing: 0, inverted: 0 });
    for (const event of events) {
      expect(event).toMatchObject({ session: run.sessionId, root: run.sessionId, ns: 'default' });
      expect(parseEvent(event).type).toBe('event');
      if (event.kind === 'session') continue;
      expect([event.turn, event.run]).toEqual([`${run.sessionId}.1`, run.id]);
      if (event.kind === 'tool')
        expect([event.step, event.call]).toEqual([expect.any(String), expect.any(String)]);
    }
  });

  it('NB-07 nothing that people, models and tools said is there unless it is switched on', async () => {
    const server = await startBus();
    const { events } = await playedOn(server);
    const text = JSON.stringify(events);
    expect([text.includes(SAID), text.includes(SECRET)]).toEqual([false, false]);
    expect(onlyOf(events, 'tool.called').data.digests?.args).toMatchObject({ bytes: expect.any(Number) });
  });

  it('NB-07 what is switched on by kind is there, of that kind, and secrets never', async () => {
    const server = await startBus();
    const { events } = await playedOn(server, { content: ['tool'] });
    for (const event of events) {
      const text = JSON.stringify(event);
      expect(text.includes(SECRET), event.type).toBe(false);
      if (event.kind !== 'tool') expect(text.includes(SAID), event.type).toBe(false);
    }
    expect(onlyOf(events, 'tool.called').data.args?.['at']).toBe(SAID);
    expect(JSON.stringify(onlyOf(events, 'tool.settled'))).toContain(SAID);
  });

  it('NB-08 a result too large for an event is a reference that a subscriber can read', async () => {
    const server = await startBus();
    const { events } = await playedOn(server, { content: ['tool'] }, 200_000);
    const settled = onlyOf(events, 'tool.settled');
    expect(JSON.stringify(settled).length).toBeLessThan(64 * 1024);
    const { resultRef } = settled.data;
    if (resultRef === undefined) throw new Error('no reference');
    const subscription = subscribe({ connection: clientOf(server.url) });
    const bytes = await subscription.readArtifact(resultRef);
    expect(bytes.length).toBe(resultRef.size);
    expect(Buffer.from(bytes).toString()).toContain(SAID);
  });

  it('NB-08 data too large for an event is a reference to all of it, and its digests stay', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const outbox = feed(ledger, natsSink({ connection: server.url, content: true, republishAfter: 0 }));
    const writer = await ledger.acquire({ session: 's-1', root: 's-1', agent: 'boss' });
    const text = `${SAID} ${'x'.repeat(60_000)}`;
    const parts = [1, 2, 3].map(() => ({ type: 'text' as const, text }));
    await writer.append(0, [{ type: 'message.received', data: { from: 'scout', parts } }]);
    await outbox.close();
    const [event] = await storedEvents(server.url);
    expect(parseEvent(event).type).toBe('event');
    const { data, ref } = onlyOf(event === undefined ? [] : [event], 'message.received');
    expect(data).toMatchObject({
      from: 'scout',
      parts: 3,
      digests: { content: { bytes: expect.any(Number) } },
    });
    expect(data.content).toBeUndefined();
    await using subscription = subscribe({ connection: server.url });
    const bytes = await subscription.readArtifact(ref ?? { sha256: '' });
    expect(JSON.parse(Buffer.from(bytes).toString())).toEqual({ from: 'scout', parts: 3, content: parts });
  });

  it('NB-08 no result is put on the bus where content is switched off', async () => {
    const server = await startBus();
    const { events } = await playedOn(server, {}, 200_000);
    const { resultRef } = onlyOf(events, 'tool.settled').data;
    const client = clientOf(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    const reading = subscribe({ connection: client }).readArtifact(resultRef ?? { sha256: '' });
    await expect(reading).rejects.toMatchObject({ code: 'artifact-missing' });
  });
});
