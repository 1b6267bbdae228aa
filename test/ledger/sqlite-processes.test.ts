import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { expect, test } from 'vitest';
import { verifyChain } from '../../src/ledger/hash-chain.ts';
import { commit, expectError, note, notesOf, rootSession, take } from '../../src/testing/ledger-samples.ts';
import { ledgerFolder } from './ledger-folder.ts';
import { spawnLedgerChild } from './spawn-ledger-child.ts';

const NEVER = new AbortController().signal;

test('two processes append to one file', async () => {
  await using folder = await ledgerFolder();
  const ledger = await folder.open();
  await using child = spawnLedgerChild('append', folder.path, 's-1', 's-2');
  const writer = await ledger.acquire(rootSession('s-3'));
  for (let heard = 0; heard < 50; heard += 1) {
    await child.lines.next();
    await commit(writer, note(String(heard)));
  }
  await child.kill();
  for (const session of ['s-1', 's-2', 's-3']) verifyChain(await ledger.read(session));
  expect((await ledger.read('s-3')).length).toBe(50);
});

test('a session of a live process is not taken over', async () => {
  await using folder = await ledgerFolder();
  await using child = spawnLedgerChild('hold', folder.path, 's-1');
  await child.lines.next();
  const ledger = await folder.open();
  await expectError(ledger.acquire(rootSession('s-1')), 'session-owned-elsewhere');
  expect((await ledger.sessions())[0]).toMatchObject({ sessionId: 's-1', owned: true });
  expect(notesOf(await ledger.read('s-1'))).toEqual(['held']);
  await ledger.acquire(rootSession('s-2'));
});

test('a process that is stopped keeps its sessions', async () => {
  await using folder = await ledgerFolder();
  await using child = spawnLedgerChild('hold', folder.path, 's-1');
  await child.lines.next();
  child.signal('SIGSTOP');
  const ledger = await folder.open();
  await expectError(ledger.acquire(rootSession('s-1')), 'session-owned-elsewhere');
});

test('a session of a killed process is taken over at once', async () => {
  await using folder = await ledgerFolder();
  const ledger = await folder.open();
  await using child = spawnLedgerChild('hold', folder.path, 's-1');
  await child.lines.next();
  await child.kill();
  expect((await ledger.sessions())[0]?.owned).toBe(false);
  const writer = await ledger.acquire(rootSession('s-1'));
  expect([writer.epoch, writer.head.seq]).toEqual([2, 1]);
  await commit(writer, note('taken over'));
});

test('a killed process leaves no file of its own for long', async () => {
  await using folder = await ledgerFolder();
  await using child = spawnLedgerChild('hold', folder.path, 's-1');
  await child.lines.next();
  await child.kill();
  const beside = async () =>
    (await readdir(dirname(folder.path))).filter((name) => name.startsWith(`${basename(folder.path)}-owner`));
  expect(await beside()).toHaveLength(1);
  const ledger = await folder.open();
  await ledger.acquire(rootSession('s-2'));
  const [own, ...others] = await beside();
  expect(own).toContain(`-owner-${process.pid}-`);
  expect(others).toEqual([]);
  await ledger.close();
  expect(await beside()).toEqual([]);
});

test('a second ledger of one process counts as another owner', async () => {
  await using folder = await ledgerFolder();
  const [one, two] = [await folder.open(), await folder.open()];
  const writer = await one.acquire(rootSession('s-1'));
  await expectError(two.acquire(rootSession('s-1')), 'session-owned-elsewhere');
  await commit(writer, note('a'));
  expect((await two.sessions())[0]?.owned).toBe(true);
  await one.close();
  expect((await two.acquire(rootSession('s-1'))).epoch).toBe(2);
});

test('a tail sees the commits of another process', async () => {
  await using folder = await ledgerFolder();
  const ledger = await folder.open();
  const tailed = take(ledger.tail(0, NEVER), 20);
  await using child = spawnLedgerChild('append', folder.path, 's-1');
  expect(notesOf((await tailed).map(({ record }) => record)).at(-1)).toBe('s-1 20');
  await child.kill();
});

test('a message reaches an owner in another process, and its answer comes back', async () => {
  await using folder = await ledgerFolder();
  await using child = spawnLedgerChild('serve', folder.path, 's-1');
  await child.lines.next();
  const ledger = await folder.open();
  const item = { id: 'm-1', session: 's-1', kind: 'steer', body: { text: 'left' } };
  expect(await ledger.post(item, NEVER)).toEqual({ type: 'accepted', body: { text: 'left' } });
});

test('a message of another process reaches an owner here', async () => {
  await using folder = await ledgerFolder();
  const ledger = await folder.open();
  await commit(await ledger.acquire(rootSession('s-1')), note('a'));
  await using child = spawnLedgerChild('post', folder.path, 's-1', 'left');
  const [item] = await take(ledger.inbox('s-1', NEVER), 1);
  expect(item).toEqual({ id: 'm-1', session: 's-1', kind: 'steer', body: 'left' });
  await ledger.reply(item ?? expect.unreachable(), {
    type: 'rejected',
    code: 'turn-not-open',
    message: 'none',
  });
  const answer = await child.lines.next();
  expect(JSON.parse(String(answer.value))).toEqual({
    type: 'rejected',
    code: 'turn-not-open',
    message: 'none',
  });
  expect(await child.ended()).toBe(0);
});

test('a process ends by itself with a ledger left open', async () => {
  await using folder = await ledgerFolder();
  await using child = spawnLedgerChild('leave', folder.path, 's-1');
  expect(await child.ended()).toBe(0);
  const ledger = await folder.open();
  expect(notesOf(await ledger.read('s-1'))).toEqual(['left']);
  await ledger.acquire(rootSession('s-1'));
});

test('who only reads leaves the file as it is', async () => {
  await using folder = await ledgerFolder();
  const writing = await folder.open();
  await commit(await writing.acquire(rootSession('s-1')), note('a'));
  await writing.close();
  const ledger = await folder.open();
  await ledger.read('s-1');
  await ledger.sessions();
  const names = await readdir(dirname(folder.path));
  expect(names.filter((name) => name.includes('-owner'))).toEqual([]);
});
