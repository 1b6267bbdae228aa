import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isNatsMissing, startNatsServer } from '../support/nats-server.ts';
import { madeFolder } from './made-folder.ts';
import { runProgram } from './run-example.ts';

describe.skipIf(isNatsMissing())('the subscriber', { timeout: 60_000 }, () => {
  it('follows an agent, and another process goes on where it stopped', async () => {
    const ended = await runProgram('examples/subscriber.ts');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const places = [...ended.stdout.matchAll(/^ +(\d+) counter ([\w.]+)/gm)].map(([, place]) =>
      Number(place),
    );
    expect(places).toEqual(places.map((_, at) => at + 1));
    expect(ended.stdout).toMatch(/tool\.called[\s\S]*Another process[\s\S]*turn\.closed/);
  });

  it('is told of nothing but a server where there is none', async () => {
    const env = { PATH: '', NATS_SERVER_BIN: '/nowhere/nats-server' };
    const ended = await runProgram('examples/subscriber.ts', [], { env });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toMatch(/^Events: on no bus; scripts\/nats-server\.sh/);
  });
});

describe.skipIf(isNatsMissing())('npm start and the bus', { timeout: 60_000 }, () => {
  it('prints the line that follows its events, and leaves no server behind', async () => {
    const folder = madeFolder({ 'a.ts': 'export const a = 1;\n' });
    const ledger = join(madeFolder(), 'sessions.db');
    const ended = await runProgram('examples/repo-review.ts', [folder, '--ledger', ledger]);
    const url = /^Events: npm run -s example -- examples\/subscriber\.ts (nats:\S+)$/m.exec(
      ended.stdout,
    )?.[1];
    expect(ended.code).toBe(0);
    await expect(fetch(String(url).replace('nats:', 'http:'))).rejects.toThrow();
  });

  it('publishes to the server it is told of, without its password in the terminal', async () => {
    await using server = await startNatsServer();
    const folder = madeFolder({ 'a.ts': 'export const a = 1;\n' });
    const ledger = join(madeFolder(), 'sessions.db');
    const env = { SWARMWRIGHT_NATS: `nats://ann:hunter22@127.0.0.1:${server.port}` };
    const ended = await runProgram('examples/repo-review.ts', [folder, '--ledger', ledger], { env });
    expect(ended.code).toBe(0);
    expect(ended.stdout).toContain(`examples/subscriber.ts nats://USER:PASSWORD@127.0.0.1:${server.port}`);
    expect(ended.stdout + ended.stderr).not.toContain('hunter22');
  });
});
