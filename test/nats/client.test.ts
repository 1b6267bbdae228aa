import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connectNats } from '../../src/nats/client.ts';
import { createSubjects } from '../../src/nats/subjects.ts';
import { isNatsMissing } from '../support/nats-server.ts';
import { clientOf, startBus, until } from './bus.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe.skipIf(isNatsMissing())('a connection', () => {
  it('NB-03 keeps nothing while there is no server: a message is refused, not buffered', async () => {
    const server = await startBus();
    const client = clientOf(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    const heard: string[] = [];
    client.subscribe('news', ({ data }) => heard.push(Buffer.from(data).toString()));
    await server.kill();
    await until(() => client.state.type === 'down', 'a loss');
    for (let at = 0; at < 1_000; at += 1) {
      expect(() => client.publish('news', bytes('lost'))).toThrow(
        expect.objectContaining({ code: 'nats-unavailable' }),
      );
    }
    await server.start();
    await client.connected(AbortSignal.timeout(20_000));
    client.publish('news', bytes('kept'));
    await until(() => heard.length > 0, 'the message after the return');
    expect(heard).toEqual(['kept']);
  });

  it('starts without a server, and is there once one is', async () => {
    const server = await startBus();
    await server.kill();
    const client = clientOf(server.url);
    await until(() => client.state.type === 'down', 'a failure');
    await expect(client.connected(AbortSignal.timeout(1))).rejects.toMatchObject({
      code: 'nats-unavailable',
    });
    await server.start();
    await client.connected(AbortSignal.timeout(20_000));
    expect(client.server).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+/),
      maxPayload: 1_048_576,
    });
  });

  it('shows a wrong password without it, and goes on trying', async () => {
    const server = await startBus({ conf: 'project' });
    const client = clientOf(`nats://worker:hunter22@127.0.0.1:${server.port}`);
    await until(() => client.state.type === 'down', 'a refusal');
    expect(client.state.message).toMatch(/authorization/i);
    expect(JSON.stringify([client.state, client.address])).not.toContain('hunter22');
  });

  it('ends a request at once when the server goes', async () => {
    const server = await startBus();
    const client = clientOf(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    client.subscribe('slow', () => {});
    const asked = client.request('slow', bytes(''), { timeoutMs: 60_000 });
    const failed = expect(asked).rejects.toMatchObject({ code: 'nats-unavailable' });
    await server.kill();
    await failed;
  });

  it('closes while it connects, twice, and then refuses', async () => {
    const client = connectNats('nats://127.0.0.1:9');
    await Promise.all([client.close(), client.close()]);
    expect(client.state.type).toBe('closed');
    expect(() => client.publish('a', bytes(''))).toThrow(
      expect.objectContaining({ code: 'nats-unavailable' }),
    );
    await expect(client.connected(new AbortController().signal)).rejects.toMatchObject({
      code: 'nats-unavailable',
    });
  });

  it('NB-02 subjects of hostile ids arrive as they were sent', async () => {
    const server = await startBus();
    const client = clientOf(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    const subjects = createSubjects();
    const ids = fc
      .sample(fc.string({ unit: 'binary', maxLength: 120 }), { numRuns: 500, seed: 7 })
      .concat(['', '*', '>', 'a b', 'a\r\nPUB x 1\r\n', '\0', '$JS.API.>', 'x'.repeat(300), '漢字'])
      .map((id) => id.toWellFormed());
    const sent = [...new Set(ids)].map((session) =>
      subjects.event({ root: 's-1', session, type: 'turn.opened' }),
    );
    const heard: string[] = [];
    client.subscribe('>', ({ subject }) => heard.push(subject));
    for (const subject of sent) client.publish(subject, bytes('{}'));
    await client.flush();
    await until(() => heard.length >= sent.length, 'all of them');
    expect(heard).toEqual(sent);
    expect(new Set(heard).size).toBe(sent.length);
  });
});

/** What a program loads of the clients of NATS. */
function loadedBy(specifier: string): readonly string[] {
  const program = `
    import { registerHooks } from 'node:module';
    registerHooks({ resolve(name, context, next) {
      if (/^@nats-io|^nats$/.test(name)) console.log(name);
      return next(name, context);
    } });
    await import('${specifier}');`;
  const args = ['--conditions=swarmwright-source', '--input-type=module', '--eval', program];
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

describe('loading', () => {
  it.each(['swarmwright', 'swarmwright/machines', 'swarmwright/testing'])(
    '%s loads nothing of NATS',
    (name) => {
      expect(loadedBy(name)).toEqual([]);
    },
  );

  it('swarmwright/nats does', () => {
    expect(loadedBy('swarmwright/nats')).toContain('@nats-io/transport-node');
  });
});
