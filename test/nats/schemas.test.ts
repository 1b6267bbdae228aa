import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { schemaFiles } from '../../scripts/schemas.ts';
import { DURABLE_EVENT_TYPES } from '../../src/events/event-schemas.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { natsSink } from '../../src/nats/nats-sink.ts';
import { COMMAND_VERBS, createSubjects } from '../../src/nats/subjects.ts';
import { isNatsMissing } from '../support/nats-server.ts';
import { appendEvents, clientOf, feed, startBus, until } from './bus.ts';
import { storedEvents } from './stored-events.ts';

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

/** Every `$ref` of a document. */
function refsIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === '$ref' && typeof item === 'string' ? [item] : refsIn(item),
  );
}

describe('published schemas', () => {
  it.each(Object.entries(schemaFiles()))('%s is what the source says (npm run schemas)', (path, text) => {
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it('of AsyncAPI name a schema for every event and command, at the subjects that are used', () => {
    const api = read('schemas/asyncapi.json');
    for (const ref of refsIn(api)) {
      const [file = '', pointer = ''] = ref.split('#/');
      const root = file === '' ? api : read(`schemas/${file.slice(2)}`);
      const found = pointer.split('/').reduce((at, key) => at?.[key], root);
      expect(found, ref).toBeDefined();
    }
    expect(Object.keys(api.channels.events.messages)).toEqual(DURABLE_EVENT_TYPES);
    const subjects = createSubjects({ ns: 'N' });
    const fill = (address: string) =>
      address
        .replace('{ns}', 'N')
        .replace('{root}', 'R')
        .replace('{session}', 'S')
        .replace('{publisher}', 'P');
    for (const verb of COMMAND_VERBS) {
      expect(fill(api.channels[verb].address)).toBe(subjects.command('S', verb));
    }
    expect(fill(api.channels.health.address)).toBe(subjects.health('P'));
    const event = fill(api.channels.events.address).replace('{kind}.{name}', 'turn.opened');
    expect(event).toBe(subjects.event({ root: 'R', session: 'S', type: 'turn.opened' }));
  });
});

describe.skipIf(isNatsMissing())('what is on the bus', () => {
  it('is what the published schemas say', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const client = clientOf(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    const healths: unknown[] = [];
    client.subscribe('swm.v1.default.hb.*', ({ data }) =>
      healths.push(JSON.parse(Buffer.from(data).toString())),
    );
    await client.flush();
    const outbox = feed(ledger, natsSink({ connection: server.url, republishAfter: 0 }));
    await appendEvents(ledger, 2);
    await until(() => healths.length > 0 && outbox.stats()[0]?.cursor === 2, 'events and health');
    const ajv = new Ajv2020({ strict: false });
    const event = ajv.compile(read('schemas/events.json')['steering.accepted']);
    for (const one of await storedEvents(server.url)) expect(event(one) ? [] : event.errors).toEqual([]);
    const health = ajv.compile(read('schemas/commands.json').health);
    for (const one of healths) expect(health(one) ? [] : health.errors).toEqual([]);
  });
});
