import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { chainHash } from '../../src/ledger/hash-chain.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { GENESIS_HASH, type LedgerRecord } from '../../src/ledger/records.ts';

/**
 * A ledger whose readers see `edit` of what is stored, with the chain made good again: what a reader would find
 * had somebody rewritten the store. `edit` gives back the very record it got where it changes nothing.
 */
export function editedLedger(ledger: Ledger, edit: (record: LedgerRecord) => LedgerRecord): Ledger {
  return {
    ...portOf(ledger),
    async read(session, fromSeq = 1) {
      let prev = GENESIS_HASH;
      const all = (await ledger.read(session)).map((stored) => {
        const { hash: _, prev: __, ...rest } = edit(stored);
        const record = { ...rest, prev, hash: chainHash(prev, canonicalJson(rest)) };
        prev = record.hash;
        // Only its links differ from what `edit` returned.
        return record as LedgerRecord;
      });
      return all.slice(fromSeq - 1);
    },
  };
}

/** The methods of a ledger, bound: some are on the prototype of a class. */
export function portOf(ledger: Ledger): Ledger {
  return {
    durability: ledger.durability,
    acquire: (identity, options) => ledger.acquire(identity, options),
    read: (session, fromSeq) => ledger.read(session, fromSeq),
    head: (session) => ledger.head(session),
    summary: (session) => ledger.summary(session),
    sessions: (root) => ledger.sessions(root),
    listOpen: () => ledger.listOpen(),
    tail: (after, signal, options) => ledger.tail(after, signal, options),
    position: () => ledger.position(),
    putArtifact: (bytes, mediaType) => ledger.putArtifact(bytes, mediaType),
    getArtifact: (ref) => ledger.getArtifact(ref),
    post: (item, signal) => ledger.post(item, signal),
    inbox: (session, signal) => ledger.inbox(session, signal),
    reply: (item, answer) => ledger.reply(item, answer),
    cursor: (name) => ledger.cursor(name),
    moveCursor: (name, position) => ledger.moveCursor(name, position),
    close: () => ledger.close(),
    [Symbol.asyncDispose]: () => ledger.close(),
  };
}
