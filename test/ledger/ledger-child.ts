import { writeSync } from 'node:fs';
import type { LedgerWriter } from '../../src/ledger/ledger.ts';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { commit, note, rootSession } from '../../src/testing/ledger-samples.ts';

/**
 * A process with a ledger of its own, for tests of what several of them do to one file:
 * `append PATH SESSION...` appends to each session until it is killed, one line for each acknowledged record;
 * `hold PATH SESSION` appends one record, then keeps the session;
 * `serve PATH SESSION` answers the messages to the session with what they say;
 * `post PATH SESSION TEXT` leaves a message and prints the answer;
 * `leave PATH SESSION` appends, starts to follow, and comes to its end with everything open.
 */
const [, , mode = '', path = '', session = '', ...rest] = process.argv;
const NEVER = new AbortController().signal;
const ledger = await sqliteLedger({ path });

switch (mode) {
  case 'append': {
    const writers = await Promise.all([session, ...rest].map((id) => ledger.acquire(rootSession(id))));
    await Promise.all(writers.map(appendForever));
    break;
  }
  case 'hold': {
    await commit(await ledger.acquire(rootSession(session)), note('held'));
    say('held');
    setInterval(() => {}, 1_000);
    break;
  }
  case 'serve': {
    await commit(await ledger.acquire(rootSession(session)), note('served'));
    say('served');
    setInterval(() => {}, 1_000);
    for await (const item of ledger.inbox(session, NEVER)) {
      await ledger.reply(item, { type: 'accepted', body: item.body });
    }
    break;
  }
  case 'post': {
    const item = { id: 'm-1', session, kind: 'steer', body: rest[0] ?? '' };
    say(JSON.stringify(await ledger.post(item, AbortSignal.timeout(20_000))));
    await ledger.close();
    break;
  }
  case 'leave': {
    await commit(await ledger.acquire(rootSession(session)), note('left'));
    void ledger
      .tail(await ledger.position(), NEVER)
      [Symbol.asyncIterator]()
      .next();
    say('left');
    break;
  }
}

async function appendForever(writer: LedgerWriter): Promise<void> {
  for (;;) {
    const { head } = await commit(writer, note(`${writer.identity.session} ${writer.head.seq + 1}`));
    say(`${writer.identity.session} ${head.seq}`);
  }
}

/** At once, so that nothing that was acknowledged waits in a buffer when the process is killed. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}
