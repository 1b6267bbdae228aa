import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { commit, rootSession, turnClosed, turnOpened } from '../../src/testing/ledger-samples.ts';
import { createConversation } from '../../src/turn/conversation.ts';

const SESSION = 's-1';

/** A ledger with a writer of one session, and how often that session was read. */
async function open() {
  const inner = memoryLedger();
  let reads = 0;
  const ledger = new Proxy<Ledger>(inner, {
    get(target, key) {
      if (key === 'read') reads += 1;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const writer = await inner.acquire(rootSession(SESSION));
  return {
    conversation: createConversation(ledger, SESSION, (name) => name),
    reads: () => reads,
    /** Stores a whole turn, whose input is its one message. */
    async turn(name: string) {
      const { records } = await commit(writer, turnOpened(name), turnClosed(name));
      return records;
    },
    all: () => inner.read(SESSION),
  };
}

describe('a conversation', () => {
  it('reads nothing of what it is told', async () => {
    const { conversation, reads, turn, all } = await open();
    await turn('t-1');
    conversation.begin(await all());
    expect(await conversation.reload()).toHaveLength(1);
    conversation.follow(await turn('t-2'));
    conversation.follow(await turn('t-3'));
    expect(await conversation.reload()).toHaveLength(3);
    expect(await conversation.reload()).toHaveLength(3);
    expect(reads()).toBe(0);
  });

  it('reads where something in between was not told', async () => {
    const { conversation, reads, turn, all } = await open();
    conversation.begin(await all());
    conversation.follow(await turn('t-1'));
    await turn('t-2');
    conversation.follow(await turn('t-3'));
    expect(await conversation.reload()).toHaveLength(3);
    expect(reads()).toBe(1);
  });

  it('takes what it is told twice once', async () => {
    const { conversation, turn, all } = await open();
    conversation.begin(await all());
    const records = await turn('t-1');
    conversation.follow(records);
    conversation.follow(records);
    expect(await conversation.reload()).toHaveLength(1);
    conversation.follow(records);
    expect(await conversation.reload()).toHaveLength(1);
  });

  it('keeps a bounded number of records that nobody asks for, and reads them when somebody does', async () => {
    const { conversation, reads, turn, all } = await open();
    conversation.begin(await all());
    for (let at = 0; at < 600; at += 1) conversation.follow(await turn(`t-${at}`));
    expect(await conversation.reload()).toHaveLength(600);
    expect(reads()).toBe(1);
    conversation.follow(await turn('t-last'));
    expect(await conversation.reload()).toHaveLength(601);
    expect(reads()).toBe(1);
  });
});
