import { expect, it } from 'vitest';
import { spawnScriptedServer } from '../../src/testing/spawn-scripted-server.ts';
import { ask, deltasOf, post } from './sse-client.ts';

const script = new URL('spawned-script.ts', import.meta.url);

it('serves the script of a module from a process of its own', async () => {
  const server = await spawnScriptedServer(script);
  expect(deltasOf((await ask(server.baseURL)).events)).toEqual([{ content: 'one' }]);
  await expect(server.assertPlayedOut()).rejects.toMatchObject({ code: 'script-unplayed' });
  expect(deltasOf((await ask(server.baseURL)).events)).toEqual([{ content: 'two' }]);
  await server.assertPlayedOut();
  expect(await server.requests()).toMatchObject([
    { ordinal: 0, model: 'm', aborted: false, violations: [] },
    { ordinal: 1 },
  ]);
  await server.close();
  await server.close();
  await expect(post(server.baseURL)).rejects.toThrow();
  await expect(server.requests()).rejects.toMatchObject({ code: 'fault-injected' });
});

it.each([
  ['cannot be loaded', new URL('no-such-script.ts', import.meta.url), 'no-such-script'],
  ['exports no script', new URL('sse-client.ts', import.meta.url), 'exports no script'],
])('says what is wrong with a module that %s', async (_, module, message) => {
  await expect(spawnScriptedServer(module)).rejects.toMatchObject({
    code: 'fault-injected',
    message: expect.stringContaining(message),
  });
});
