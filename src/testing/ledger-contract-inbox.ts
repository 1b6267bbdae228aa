import assert from 'node:assert/strict';
import type { InboxItem, InboxReply, Ledger } from '../ledger/ledger.ts';
import { onLedger, onSession } from './ledger-case.ts';
import type { LedgerCase } from './ledger-contract.ts';
import { commit, expectError, note, rootSession, take } from './ledger-samples.ts';

const NEVER = new AbortController().signal;
const ACCEPTED: InboxReply = { type: 'accepted', body: { seq: 1 } };

/** Messages to the owner of a session. */
export const inboxCases: readonly LedgerCase[] = [
  withOwner('a message reaches the owner and its answer the sender', async (ledger) => {
    const sent = ledger.post(steer('m-1', { text: 'left' }), NEVER);
    const [item] = await take(ledger.inbox('s-1', NEVER), 1);
    assert.deepEqual(item, steer('m-1', { text: 'left' }));
    await ledger.reply(steer('m-1'), ACCEPTED);
    assert.deepEqual(await sent, ACCEPTED);
  }),
  withOwner('an owner that waits is told of a message', async (ledger) => {
    const received = take(ledger.inbox('s-1', NEVER), 1);
    const sent = ledger.post(steer('m-1'), NEVER);
    await received;
    await ledger.reply(steer('m-1'), ACCEPTED);
    assert.deepEqual(await sent, ACCEPTED);
  }),
  withOwner('a refusal carries its code and message', async (ledger) => {
    const refusal: InboxReply = { type: 'rejected', code: 'turn-not-open', message: 'no turn is open' };
    const sent = ledger.post(steer('m-1'), NEVER);
    await take(ledger.inbox('s-1', NEVER), 1);
    await ledger.reply(steer('m-1'), refusal);
    assert.deepEqual(await sent, refusal);
  }),
  withOwner('messages come in order, each once', async (ledger) => {
    const ids = ['m-1', 'm-2', 'm-3'];
    const sent = ids.map((id) => ledger.post(steer(id), NEVER));
    const got = await take(ledger.inbox('s-1', NEVER), 3);
    assert.deepEqual(
      got.map(({ id }) => id),
      ids,
    );
    for (const item of got) await ledger.reply(item, { type: 'accepted', body: item.id });
    assert.deepEqual(
      await Promise.all(sent),
      ids.map((body) => ({ type: 'accepted', body })),
    );
  }),
  withOwner('what was not answered comes again to the next owner', async (ledger) => {
    const sent = ledger.post(steer('m-1'), NEVER);
    await take(ledger.inbox('s-1', NEVER), 1);
    assert.equal((await take(ledger.inbox('s-1', NEVER), 1))[0]?.id, 'm-1');
    await ledger.reply(steer('m-1'), ACCEPTED);
    await sent;
    const other = ledger.post(steer('m-2'), NEVER);
    assert.equal((await take(ledger.inbox('s-1', NEVER), 1))[0]?.id, 'm-2');
    await ledger.reply(steer('m-2'), ACCEPTED);
    await other;
  }),
  withOwner('a message posted again gets the answer of the first time', async (ledger) => {
    const twice = [ledger.post(steer('m-1'), NEVER), ledger.post(steer('m-1'), NEVER)];
    await take(ledger.inbox('s-1', NEVER), 1);
    await ledger.reply(steer('m-1'), ACCEPTED);
    assert.deepEqual(await Promise.all(twice), [ACCEPTED, ACCEPTED]);
    assert.deepEqual(await ledger.post(steer('m-1'), NEVER), ACCEPTED);
  }),
  withOwner('the first answer stands', async (ledger) => {
    const sent = ledger.post(steer('m-1'), NEVER);
    await take(ledger.inbox('s-1', NEVER), 1);
    await ledger.reply(steer('m-1'), ACCEPTED);
    await ledger.reply(steer('m-1'), { type: 'rejected', code: 'turn-not-open', message: 'too late' });
    assert.deepEqual(await sent, ACCEPTED);
    assert.deepEqual(await ledger.post(steer('m-1'), NEVER), ACCEPTED);
  }),
  withOwner('a message is kept as it is', async (ledger) => {
    const body = JSON.parse('{"__proto__":[1],"text":"\\ud800 \\u0000 世界","n":null}');
    const sent = ledger.post(steer('m-1', body), NEVER);
    const [item] = await take(ledger.inbox('s-1', NEVER), 1);
    assert.deepEqual(item?.body, body);
    await ledger.reply(steer('m-1'), { type: 'accepted', body });
    assert.deepEqual(await sent, { type: 'accepted', body });
  }),
  withOwner('a message reaches its session only', async (ledger) => {
    await commit(await ledger.acquire(rootSession('s-2')), note('a'));
    const stop = new AbortController();
    const others: InboxItem[] = [];
    const listening = (async () => {
      for await (const item of ledger.inbox('s-2', stop.signal)) others.push(item);
    })();
    const sent = ledger.post(steer('m-1'), NEVER);
    await take(ledger.inbox('s-1', NEVER), 1);
    await ledger.reply(steer('m-1'), ACCEPTED);
    await sent;
    stop.abort();
    await listening;
    assert.deepEqual(others, []);
  }),
  onSession('a message to a session without records is refused', async ({ ledger }) => {
    await expectError(ledger.post({ ...steer('m-1'), session: 's-9' }, NEVER), 'unknown-session');
    await expectError(ledger.post(steer('m-1'), NEVER), 'unknown-session');
  }),
  withOwner('a sender that gives up takes its message back', async (ledger) => {
    const stop = new AbortController();
    const sent = ledger.post(steer('m-1'), stop.signal);
    await take(ledger.inbox('s-1', NEVER), 1);
    stop.abort();
    await expectError(sent, 'ledger-unavailable');
    const next = ledger.post(steer('m-2'), NEVER);
    assert.equal((await take(ledger.inbox('s-1', NEVER), 1))[0]?.id, 'm-2');
    // Answering what is gone changes nothing.
    await ledger.reply(steer('m-1'), ACCEPTED);
    await ledger.reply(steer('m-2'), ACCEPTED);
    await next;
  }),
  withOwner('a sender that gives up just after its answer gets the answer', async (ledger) => {
    const stop = new AbortController();
    const sent = ledger.post(steer('m-1'), stop.signal);
    await take(ledger.inbox('s-1', NEVER), 1);
    const answered = ledger.reply(steer('m-1'), ACCEPTED);
    stop.abort();
    await answered;
    assert.deepEqual(await sent, ACCEPTED);
  }),
  withOwner('a sender that gave up before leaves nothing', async (ledger) => {
    await expectError(ledger.post(steer('m-1'), AbortSignal.abort()), 'ledger-unavailable');
    const next = ledger.post(steer('m-2'), NEVER);
    assert.equal((await take(ledger.inbox('s-1', NEVER), 1))[0]?.id, 'm-2');
    await ledger.reply(steer('m-2'), ACCEPTED);
    await next;
  }),
  withOwner('an inbox ends when its signal aborts', async (ledger) => {
    const stop = new AbortController();
    const listening = take(ledger.inbox('s-1', stop.signal), 1);
    stop.abort();
    assert.deepEqual(await listening, []);
  }),
  withOwner('a sender and an owner that wait end when the ledger closes', async (ledger) => {
    const listening = take(ledger.inbox('s-1', NEVER), 2);
    const sent = expectError(ledger.post(steer('m-1'), NEVER), 'ledger-closed');
    await take(ledger.inbox('s-1', NEVER), 1);
    await ledger.close();
    await sent;
    assert.ok((await listening).length <= 1);
  }),
];

/** A case over a ledger with the owned session `s-1`. */
function withOwner(title: string, check: (ledger: Ledger) => Promise<void>): LedgerCase {
  return onLedger(title, async (ledger) => {
    await commit(await ledger.acquire(rootSession('s-1')), note('a'));
    await check(ledger);
  });
}

function steer(id: string, body: InboxItem['body'] = null): InboxItem {
  return { id, session: 's-1', kind: 'steer', body };
}
