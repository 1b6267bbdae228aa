import { connectNats } from 'swarmwright/nats';
import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { enqueueTurn } from '../support/enqueue.ts';
import { isNatsMissing, startNatsServer } from '../support/nats-server.ts';
import { fixture, jsonLines, openWorkplace, SLOW } from './cli-process.ts';
import { noTerminal, openTerminal } from './terminal.ts';

const HOSTILE = 'one\u001b[2J\u001b[1;1H\u001b]0;stolen title\u0007\u001b]52;c;c3RvbGVu\u0007two\u202e';

/** Colours of our own. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what this looks for.
const OWN = /\u001b\[(?:\d+;)*\d*m/g;

/** A server, a folder, and a letter about a turn that no worker there knows the agent of. */
async function openOffice() {
  const server = await startNatsServer();
  const place = await openWorkplace([reply().text('Done.')]);
  const bus = ['--nats', server.url];
  expect((await place.run(['nats', 'init', '--ledger', ...bus])).code).toBe(0);
  const client = connectNats(server.url);
  await client.connected(AbortSignal.timeout(10_000));
  const bury = (letter: object) =>
    client.request('swm.v1.default.dlq.turn.unknown-agent', Buffer.from(JSON.stringify(letter)));
  return {
    place,
    bus,
    client,
    bury,
    letters: (...words: readonly string[]) => place.run(['nats', 'dead-letters', ...words, ...bus]),
    async [Symbol.asyncDispose]() {
      await client.close();
      await place[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const TURN = { v: 1, run: 'r-1', session: 's-1', target: 'worker', input: 'Go.' };
const LETTER = {
  v: 1,
  reason: 'unknown-agent',
  message: 'no definition named worker is registered here',
  subject: 'swm.v1.default.q.turn.default.s-1',
  deliveries: 2,
  body: JSON.stringify(TURN),
};

describe.skipIf(isNatsMissing())('nats dead-letters', SLOW, () => {
  it('NB-15 lists what a worker gave up, shows it whole, and queues it again', async () => {
    await using office = await openOffice();
    const { place, client, bus, letters } = office;
    expect((await letters()).stdout).toBe('no dead letter\n');
    await enqueueTurn(client, { run: 'r-1', session: 's-1', target: 'writer', input: 'Go.' });
    const worker = place.start(['worker', fixture('worker'), ...bus]);
    await expect.poll(async () => (await letters()).stdout, { timeout: 60_000 }).toContain('unknown-agent');
    worker.kill('SIGTERM');
    await worker.ended;
    const listed = (await letters()).stdout;
    expect(listed).toMatch(
      /^1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}turn unknown-agent {2}default s-1 r-1 writer/,
    );
    const shown = (await letters('1')).stdout;
    expect(shown).toMatch(
      /handed out: 1 time\npool: {7}default\nsession: {4}s-1\nrun: {8}r-1\nagent: {6}writer\n/,
    );
    expect(shown).toMatch(/input:\nGo\.\n$/);
    const back = await letters('1', '--requeue');
    expect([back.code, back.stdout]).toEqual([0, expect.stringMatching(/^queued again as r-\w+\n$/)]);
    expect((await letters()).stdout).toBe('no dead letter\n');
  });

  it('NB-15 drops one, tells of one that is not there, and says what it takes', async () => {
    await using office = await openOffice();
    const { bury, letters } = office;
    await bury(LETTER);
    const nameless = await letters('--drop');
    expect([nameless.code, nameless.stderr]).toEqual([2, expect.stringContaining('Give its number')]);
    const both = await letters('1', '--drop', '--requeue');
    expect(both.code).toBe(2);
    const missing = await letters('7');
    expect([missing.code, missing.stderr]).toEqual([1, 'there is no dead letter 7\n']);
    const dropped = await letters('1', '--drop');
    expect([dropped.code, dropped.stdout]).toEqual([0, 'dropped 1\n']);
    expect((await letters('--json')).stdout).toBe('');
  });

  it('NB-15 leaves one whose session has a turn in the queue', async () => {
    await using office = await openOffice();
    const { client, bury, letters } = office;
    await bury(LETTER);
    await enqueueTurn(client, { run: 'r-2', session: 's-1', target: 'worker', input: 'Go.' });
    const busy = await letters('1', '--requeue');
    expect([busy.code, busy.stderr]).toEqual([1, expect.stringContaining('the letter stays')]);
    expect(jsonLines((await letters('--json')).stdout)).toMatchObject([
      { sequence: 1, reason: 'unknown-agent' },
    ]);
  });

  it('is completed with its options', async () => {
    await using place = await openWorkplace([]);
    const { stdout } = await place.run(['__complete', '--', 'nats', 'dead-letters', '--re']);
    expect(stdout).toMatch(/^--requeue\t/);
  });
});

describe.skipIf(noTerminal !== undefined || isNatsMissing())(
  `hostile dead letters in a terminal ${noTerminal ?? ''}`,
  SLOW,
  () => {
    it.each([[[]], [['1']], [['--json']], [['1', '--json']]])('do nothing with %j', async (words) => {
      await using office = await openOffice();
      const body = JSON.stringify({ ...TURN, target: HOSTILE, input: HOSTILE });
      await office.bury({ ...LETTER, message: HOSTILE, body });
      const args = ['nats', 'dead-letters', ...words, ...office.bus];
      await using terminal = await openTerminal(office.place, args, { columns: 300 });
      expect(await terminal.shows(/EXIT=0/)).toMatch(/^ABOVE$/m);
      expect(await terminal.ask('pane_title')).not.toMatch(/title/);
      expect(await terminal.clipboard()).toBeUndefined();
      const foreign = (await terminal.written()).replace(OWN, '').match(/[^\P{Cc}\n\r]|\u202e/gu);
      expect(foreign).toBeNull();
    });
  },
);
