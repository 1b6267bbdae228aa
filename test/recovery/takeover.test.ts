import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { kill, startStopped } from './fixtures/kill-process.ts';
import { linesOf } from './fixtures/outside-log.ts';
import { checkEnd, finishTurn, startSuccessor } from './fixtures/recover-killed.ts';

it("a session is its owner's while that lives, and anybody's as soon as it is killed", async () => {
  const directory = await mkdtemp(join(tmpdir(), 'swarmwright-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const plan = { manner: 'decides', recovery: 'never_auto_retry' } as const;
  const place = { kind: 'tool-call', state: 'awaitingPermission', ordinal: 1 } as const;
  const stopped = { session: 's-held', logPath: join(directory, 'outside'), plan, place };
  const path = join(directory, 'ledger.db');
  const child = await startStopped({ path, sessions: [stopped] });
  onTestFinished(() => void child.kill('SIGKILL'));

  const ledger = await sqliteLedger({ path });
  onTestFinished(() => ledger.close());
  const successor = startSuccessor(ledger, stopped);
  const { runtime, agent, log } = successor;
  expect(await runtime.recover()).toMatchObject([{ sessionId: 's-held', owned: true }]);
  const stolen = runtime.resume(agent, 's-held', { indeterminate: () => 'retry' });
  expect(await stolen.result).toMatchObject({ status: 'failed', error: { kind: 'session-owned-elsewhere' } });
  const next = runtime.run(agent, 'Me too.', { sessionId: 's-held' });
  expect(await next.result).toMatchObject({ status: 'failed', error: { kind: 'session-owned-elsewhere' } });
  await expect(runtime.abandon('s-held', 'mine')).rejects.toMatchObject({
    code: 'session-owned-elsewhere',
  });

  await kill(child);
  expect(await runtime.recover()).toMatchObject([{ owned: false, parked: [{ toolName: 'gated' }] }]);
  expect(await finishTurn(successor, 'abandon')).toMatchObject({ status: 'completed' });
  const gated = linesOf(log, 'entered').filter(({ toolName }) => toolName === 'gated');
  expect(gated).toHaveLength(1);
  await checkEnd(successor);
});
