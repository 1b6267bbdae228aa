import { canonicalJson } from './canonical-json.ts';
import { type CommitWatch, MESSAGES } from './commit-watch.ts';
import { mailboxFull, REMEMBERED_REPLIES, unanswered } from './inbox-rules.ts';
import type { InboxItem, InboxReply } from './ledger.ts';

interface Entry {
  readonly order: number;
  readonly item: InboxItem;
  reply?: InboxReply;
}

/** Messages to owners, kept in memory. */
export interface MemoryInbox {
  post(item: InboxItem, signal: AbortSignal): Promise<InboxReply>;
  follow(session: string, signal: AbortSignal): AsyncIterable<InboxItem>;
  reply(item: InboxItem, reply: InboxReply): void;
}

/** `maxWaiting` bounds the unanswered messages of one session. */
export function createMemoryInbox(watch: CommitWatch, maxWaiting: number): MemoryInbox {
  const boxes = new Map<string, Map<string, Entry>>();
  let posted = 0;

  function boxOf(session: string): Map<string, Entry> {
    const box = boxes.get(session) ?? new Map<string, Entry>();
    boxes.set(session, box);
    return box;
  }

  function store(item: InboxItem): Entry {
    const box = boxOf(item.session);
    const known = box.get(item.id);
    if (known !== undefined) return known;
    const waiting = [...box.values()].filter((entry) => entry.reply === undefined).length;
    if (waiting >= maxWaiting) throw mailboxFull(item, waiting);
    posted += 1;
    const entry: Entry = { order: posted, item: copyItem(item) };
    box.set(item.id, entry);
    watch.wake([MESSAGES]);
    return entry;
  }

  return {
    async post(item, signal) {
      if (signal.aborted) throw unanswered(item, watch.closed);
      const entry = store(item);
      await watch.until(() => entry.reply, signal);
      // An answer that came before its sender gave up stands.
      if (entry.reply !== undefined) return copy(entry.reply);
      // Nobody took it: the owner need not act on what nobody waits for.
      boxOf(item.session).delete(item.id);
      throw unanswered(item, watch.closed);
    },
    follow(session, signal) {
      let seen = 0;
      const nextPage = () => {
        const entries = [...boxOf(session).values()];
        const fresh = entries.filter((entry) => entry.order > seen && entry.reply === undefined);
        seen = fresh.at(-1)?.order ?? seen;
        return fresh.map(({ item }) => copyItem(item));
      };
      return watch.follow(nextPage, signal, MESSAGES);
    },
    reply(item, reply) {
      const box = boxOf(item.session);
      const entry = box.get(item.id);
      if (entry === undefined || entry.reply !== undefined) return;
      entry.reply = copy(reply);
      forgetOldest(box);
      watch.wake([MESSAGES]);
    },
  };
}

function forgetOldest(box: Map<string, Entry>): void {
  const answered = [...box].filter(([, entry]) => entry.reply !== undefined);
  for (const [id] of answered.slice(0, Math.max(0, answered.length - REMEMBERED_REPLIES))) box.delete(id);
}

function copyItem(item: InboxItem): InboxItem {
  return { id: item.id, session: item.session, kind: item.kind, body: copy(item.body) };
}

/** A round trip through JSON, as a file makes it: the same shape, no object shared. */
function copy<T>(value: T): T {
  return JSON.parse(canonicalJson(value)) as T;
}
