import { connectNats, provision } from 'swarmwright/nats';
import { describe, expect, it } from 'vitest';
import { isNatsMissing, startNatsServer } from '../support/nats-server.ts';
import { runProgram } from './run-example.ts';

const ANSWER =
  /^(?:first|second|third): src holds \d+ entries; test holds \d+ entries; README\.md has \d+ lines$/gm;

describe.skipIf(isNatsMissing())('two workers', { timeout: 60_000 }, () => {
  it('share the runs of another process, and their children, between them', async () => {
    const { code, stdout, stderr } = await runProgram('examples/worker.ts');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.match(ANSWER)).toHaveLength(3);
    // Each tool was entered once for each run, wherever.
    expect(stdout.match(/^worker-\d lists src$/gm)).toHaveLength(3);
    expect(stdout.match(/^worker-\d counts README\.md$/gm)).toHaveLength(3);
    expect(stdout.match(/^worker-\d begins lead > surveyor in s-\w+$/gm)).toHaveLength(3);
    // While its children are at work, a lead takes no place.
    expect(stdout).toMatch(/^worker-\d leaves s-\w+ to wait$/m);
    for (const worker of ['worker-1', 'worker-2']) {
      expect(stdout).toMatch(new RegExp(`^${worker} begins lead`, 'm'));
      expect(stdout).toMatch(new RegExp(`^${worker} is done: [1-9]`, 'm'));
    }
  });

  it('work on the server they are told of', async () => {
    await using server = await startNatsServer();
    await using admin = connectNats(server.url);
    await provision(admin, { ledger: true });
    const { code, stdout } = await runProgram('examples/worker.ts', [], { env: { NATS_URL: server.url } });
    expect(code).toBe(0);
    expect(stdout.match(ANSWER)).toHaveLength(3);
    const answer = await admin.request('$JS.API.STREAM.INFO.SWM_LED', new Uint8Array());
    expect(JSON.parse(Buffer.from(answer.data).toString()).state.messages).toBeGreaterThan(0);
  });

  it('tell of the streams that a server lacks', async () => {
    await using server = await startNatsServer();
    const { code, stderr } = await runProgram('examples/worker.ts', [], { env: { NATS_URL: server.url } });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/SWM_LED is missing.*nats init --ledger/);
  });

  it('are told of nothing but a server where there is none', async () => {
    const env = { PATH: '', NATS_SERVER_BIN: '/nowhere/nats-server' };
    const { code, stdout, stderr } = await runProgram('examples/worker.ts', [], { env });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^There is no server: scripts\/nats-server\.sh/);
  });
});
