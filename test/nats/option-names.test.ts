import {
  connectNats,
  jetstreamLedger,
  natsPool,
  natsSink,
  provision,
  publishDeltas,
  sendCommand,
  serveCommands,
  startWorker,
  subscribe,
} from 'swarmwright/nats';
import { describe, expect, it } from 'vitest';

/** As a caller without types gives them. */
const untyped = (options: unknown) => options as never;

const refused = (message: string) => expect.objectContaining({ code: 'invalid-definition', message });

describe('options of what works with NATS', () => {
  it.each([
    ['natsSink', () => natsSink(untyped({ connexion: 'nats://127.0.0.1:1' })), 'connexion'],
    ['natsPool', () => natsPool(untyped({ connection: 'nats://127.0.0.1:1', pol: 'reviews' })), 'pol'],
    ['connectNats', () => connectNats(untyped({ server: 'nats://127.0.0.1:1' })), 'server'],
    ['tls', () => connectNats(untyped({ tls: { ca: 'ca.pem' } })), 'ca'],
    ['subscribe', () => subscribe(untyped({ connection: 'nats://127.0.0.1:1', rooot: 's-1' })), 'rooot'],
    [
      'serveCommands',
      () => serveCommands(untyped({ connection: 'nats://127.0.0.1:1', approval: 'edit' })),
      'approval',
    ],
  ])('of %s that are misspelt are refused by name', (where, give, name) => {
    expect(give).toThrow(refused(`${where}: there is no option ${name}`));
  });

  it.each([
    ['jetstreamLedger', () => jetstreamLedger(untyped({ conection: 'nats://127.0.0.1:1' })), 'conection'],
    ['startWorker', () => startWorker(untyped({ connection: 'nats://127.0.0.1:1', pol: 'reviews' })), 'pol'],
    [
      'sendCommand',
      () => sendCommand(untyped({ connection: 'nats://127.0.0.1:1', sesion: 's-1' })),
      'sesion',
    ],
    ['publishDeltas', () => publishDeltas(untyped({ connection: 'nats://127.0.0.1:1', rn: {} })), 'rn'],
    ['provision', () => provision(untyped({}), untyped({ legder: true })), 'legder'],
  ])('of %s that are misspelt reject by name', async (where, give, name) => {
    await expect(give()).rejects.toEqual(refused(`${where}: there is no option ${name}`));
  });

  it('are an object: an address alone does not switch a sink off', () => {
    expect(() => natsSink(untyped('nats://127.0.0.1:4222'))).toThrow(
      refused('natsSink takes an object of options'),
    );
  });

  it('name the connection: none stands for the default server', async () => {
    expect(() => subscribe(untyped({}))).toThrow(refused('connection is missing'));
    await expect(jetstreamLedger(untyped({}))).rejects.toEqual(refused('connection is missing'));
  });

  it.each([Number.NaN, 0, -1, 1.5, 1_001])(
    'give a worker from 1 to 1,000 places, and not %s',
    async (concurrency) => {
      const started = startWorker(untyped({ connection: 'nats://127.0.0.1:1', runtime: {}, concurrency }));
      await expect(started).rejects.toEqual(
        refused('startWorker: concurrency is a whole number from 1 to 1000'),
      );
    },
  );

  it('name the command: one that is unknown is refused with those there are', async () => {
    const sent = sendCommand(untyped({ connection: 'nats://127.0.0.1:1', session: 's-1', body: {} }));
    await expect(sent).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('steer, cancel'),
    });
  });

  it('show a name of control characters as one of letters', () => {
    expect(() => subscribe(untyped({ 'a\u001b[2Jb\u202e': 1 }))).toThrow(
      refused('subscribe: there is no option a??2Jb?'),
    );
  });

  it('may leave the connection of a sink undefined, which switches it off', () => {
    expect(natsSink({ connection: undefined }).state?.()).toEqual({ type: 'disabled' });
  });
});
