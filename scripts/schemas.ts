import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { EVENT_DATA, type EventType } from '../src/events/event-data.ts';
import { DURABLE_EVENT_TYPES, toJsonSchemas } from '../src/events/event-schemas.ts';
import { COMMAND_BODIES, commandReplySchema } from '../src/nats/command-messages.ts';
import { healthSchema } from '../src/nats/health.ts';
import { deltaSchema } from '../src/nats/publish-deltas.ts';
import { COMMAND_VERBS, type CommandVerb } from '../src/nats/subjects.ts';

/** The published descriptions of what is on the bus, by path: JSON Schemas, and an AsyncAPI document over them. */
export function schemaFiles(): Readonly<Record<string, string>> {
  const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`;
  return {
    'schemas/events.json': json(toJsonSchemas()),
    'schemas/commands.json': json(commandSchemas()),
    'schemas/asyncapi.json': json(asyncApi()),
  };
}

const REPLY = 'reply';

function commandSchemas(): object {
  const bodies = COMMAND_VERBS.map((verb) => [verb, toSchema(COMMAND_BODIES[verb])]);
  return Object.fromEntries([
    ...bodies,
    [REPLY, toSchema(commandReplySchema)],
    ['health', toSchema(healthSchema)],
    ['delta', toSchema(deltaSchema)],
  ]);
}

function toSchema(schema: z.ZodType): object {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

const PARAMETERS = {
  ns: 'Tenant or environment; one token, other bytes than A-Z a-z 0-9 _ - as =HH.',
  root: 'Session the whole swarm hangs from.',
  session: 'Session the event or command is of.',
  run: 'Run whose text it is.',
  kind: 'First half of the type.',
  name: 'Second half of the type.',
  publisher: 'What the publisher calls itself.',
} as const;

function asyncApi(): object {
  const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Swarmwright on NATS',
      version,
      description:
        'Lifecycle events of agents on JetStream (stream SWM_EVT), and commands to their sessions by request and reply. ' +
        'Events are stored at least once and in the order of their session: drop those whose seq is not above the last ' +
        'one of the session; prev tells which one came before.',
    },
    defaultContentType: 'application/json',
    servers: { local: { host: '127.0.0.1:4222', protocol: 'nats' } },
    channels: {
      events: {
        ...channel('swm.v1.{ns}.evt.{root}.{session}.{kind}.{name}'),
        messages: Object.fromEntries(DURABLE_EVENT_TYPES.map((type) => [type, messageRef(type)])),
      },
      health: {
        ...channel('swm.v1.{ns}.hb.{publisher}'),
        messages: { health: messageRef('health') },
      },
      deltas: {
        ...channel('swm.v1.{ns}.dlt.{session}.{run}'),
        messages: { delta: messageRef('delta') },
      },
      ...Object.fromEntries(COMMAND_VERBS.map((verb) => [verb, commandChannel(verb)])),
      reply: { address: null, messages: { reply: messageRef(REPLY) } },
    },
    operations: {
      receiveEvents: { action: 'receive', channel: channelRef('events') },
      receiveDeltas: { action: 'receive', channel: channelRef('deltas') },
      receiveHealth: { action: 'receive', channel: channelRef('health') },
      ...Object.fromEntries(COMMAND_VERBS.map((verb) => [verb, commandOperation(verb)])),
    },
    components: { messages: messages() },
  };
}

function channel(address: string): object {
  const names = [...address.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const parameters = Object.entries(PARAMETERS)
    .filter(([name]) => names.includes(name))
    .map(([name, description]) => [name, { description }]);
  return { address, parameters: Object.fromEntries(parameters) };
}

function commandChannel(verb: CommandVerb): object {
  return { ...channel(`swm.v1.{ns}.cmd.{session}.${verb}`), messages: { [verb]: messageRef(verb) } };
}

function commandOperation(verb: CommandVerb): object {
  return {
    action: 'send',
    channel: channelRef(verb),
    messages: [{ $ref: `#/channels/${verb}/messages/${verb}` }],
    reply: { channel: channelRef('reply'), messages: [{ $ref: '#/channels/reply/messages/reply' }] },
  };
}

function channelRef(name: string): object {
  return { $ref: `#/channels/${name}` };
}

function messageRef(name: string): object {
  return { $ref: `#/components/messages/${name}` };
}

function messages(): object {
  const events = DURABLE_EVENT_TYPES.map((type) => [
    type,
    {
      name: type,
      headers: {
        type: 'object',
        properties: {
          'Nats-Msg-Id': { type: 'string', description: 'The namespace and the id of the event.' },
          'Swm-V': { const: '1' },
          traceparent: { type: 'string', description: 'W3C trace context.' },
        },
        required: ['Nats-Msg-Id', 'Swm-V'],
      },
      payload: { $ref: `./events.json#/${type}` },
      ...contentOf(type),
    },
  ]);
  const commands = [...COMMAND_VERBS, REPLY, 'health', 'delta'].map((name) => [
    name,
    { name, payload: { $ref: `./commands.json#/${name}` } },
  ]);
  return Object.fromEntries([...events, ...commands]);
}

/** What of an event is there only where a policy lets content out. */
function contentOf(type: EventType): object {
  const fields = Object.keys(EVENT_DATA[type].content.shape);
  if (fields.length === 0) return {};
  return { description: `Content, off by default: ${fields.join(', ')}.` };
}
