import assert from 'node:assert/strict';
import { SwarmError } from '../errors.ts';
import type { InboxItem, Ledger } from '../ledger/ledger.ts';
import { onSession, overReopen } from './ledger-case.ts';
import type { LedgerCase } from './ledger-contract.ts';
import { commit, expectError, note, notesOf, rootSession } from './ledger-samples.ts';

const NEVER = new AbortController().signal;
const ITEM: InboxItem = { id: 'm-1', session: 's-1', kind: 'steer', body: null };
const REF = { sha256: 'a'.repeat(64), size: 1, mediaType: 'text/plain' };

/** Every method, each to be refused once the ledger was closed. */
const CALLS: { readonly [method: string]: (ledger: Ledger) => Promise<unknown> } = {
  acquire: (ledger) => ledger.acquire(rootSession('s-2')),
  read: (ledger) => ledger.read('s-1'),
  head: (ledger) => ledger.head('s-1'),
  sessions: (ledger) => ledger.sessions(),
  listOpen: (ledger) => ledger.listOpen(),
  tail: async (ledger) => ledger.tail(0, NEVER),
  position: (ledger) => ledger.position(),
  putArtifact: (ledger) => ledger.putArtifact(new Uint8Array(1), 'text/plain'),
  getArtifact: (ledger) => ledger.getArtifact(REF),
  post: (ledger) => ledger.post(ITEM, NEVER),
  inbox: async (ledger) => ledger.inbox('s-1', NEVER),
  reply: (ledger) => ledger.reply(ITEM, { type: 'accepted', body: null }),
};

/** The end of a ledger. */
export const closeCases: readonly LedgerCase[] = [
  ...Object.entries(CALLS).map(([method, call]) =>
    onSession(`${method} is refused after close`, async ({ ledger, writer }) => {
      await commit(writer, note('a'));
      await ledger.close();
      await expectError(call(ledger), 'ledger-closed');
    }),
  ),
  onSession('an append is refused after close', async ({ ledger, writer }) => {
    await commit(writer, note('a'));
    await ledger.close();
    await expectError(writer.append(1, [note('b')]), 'ledger-closed');
  }),
  onSession('a ledger is closed once', async ({ ledger }) => {
    await Promise.all([ledger.close(), ledger.close()]);
    await ledger.close();
    await ledger[Symbol.asyncDispose]();
  }),
  onSession('writers are lost when their ledger closes', async ({ ledger, writer }) => {
    await ledger.close();
    assert.equal(writer.lost.aborted, true);
    assert.ok(writer.lost.reason instanceof SwarmError);
    await writer.release();
  }),
  overReopen(
    'what was sent before close is stored',
    async ({ ledger, writer }) => {
      const sent = writer.append(0, [note('a')]);
      const closed = ledger.close();
      assert.equal((await sent).type, 'committed');
      await closed;
    },
    async (ledger) => {
      assert.deepEqual(notesOf(await ledger.read('s-1')), ['a']);
      // Closing gave the session up.
      await ledger.acquire(rootSession('s-1'));
    },
  ),
];
