import { once } from 'node:events';
import { createServer } from 'node:net';
import { reply } from 'swarmwright/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/stately-relay.ts';
import { fixture, openWorkplace, SLOW, sessionIn } from './cli-process.ts';

interface Told {
  readonly type: string;
  readonly sessionId: string;
  readonly snapshot?: { readonly value: string };
}

/** Reads what a relay has kept and hears, until it is what is looked for. */
async function hearUntil(
  port: number,
  isThere: (told: readonly Told[]) => boolean,
): Promise<readonly Told[]> {
  const told: Told[] = [];
  const socket = new WebSocket(`ws://localhost:${port}`);
  onTestFinished(() => socket.close());
  return new Promise((resolve) => {
    socket.onmessage = ({ data }) => {
      told.push(JSON.parse(String(data)));
      if (isThere(told)) resolve(told);
    };
  });
}

const stopped = (told: readonly Told[]) => told.some(({ snapshot }) => snapshot?.value === 'stopped');

describe('swarmwright inspect --stately', SLOW, () => {
  it('runs an agent beside the official relay and shows it there', async () => {
    await using place = await openWorkplace([reply().text('Done.')]);
    const port = await freePort();
    const words = ['inspect', '--stately', fixture('worker'), '--input', 'go', '--no-open', '--stay'];
    const command = place.start([...words, '--port', String(port)]);
    expect(await command.errorLine(/Ctrl-C ends/)).toBeDefined();
    const told = await hearUntil(port, stopped);
    expect(told[0]).toMatchObject({ type: '@xstate.actor', snapshot: { value: 'idle' } });
    command.kill('SIGINT');
    const { code, stdout } = await command.ended;
    expect(code).toBe(0);
    expect(told[0]?.sessionId).toBe(sessionIn(stdout));
  });

  it('shows a recorded ledger again', async () => {
    await using place = await openWorkplace([reply().text('Done.')]);
    const { stdout } = await place.run(['run', fixture('worker'), '--input', 'go']);
    const port = await freePort();
    const command = place.start([
      'inspect',
      '--stately',
      'swarmwright.db',
      '--no-open',
      '--port',
      String(port),
    ]);
    expect(await command.errorLine(/records shown in \d+ messages/)).toBeDefined();
    const told = await hearUntil(port, stopped);
    expect(told[0]?.sessionId).toBe(sessionIn(stdout));
    command.kill('SIGINT');
    expect((await command.ended).code).toBe(0);
  });

  it('says that its port is taken', async () => {
    await using place = await openWorkplace([]);
    const port = await freePort();
    const other = createServer().listen(port);
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { code, stderr } = await place.run([
      'inspect',
      '--stately',
      fixture('worker'),
      '--input',
      'go',
      '--port',
      String(port),
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain(`port ${port} is taken`);
  });
});
