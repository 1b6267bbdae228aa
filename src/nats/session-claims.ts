import { randomBytes } from 'node:crypto';
import { SwarmError } from '../errors.ts';
import { reject } from '../ledger/append-rules.ts';
import type { SealedRecord } from '../ledger/record-codec.ts';
import type { SessionIdentity } from '../ledger/records.ts';
import type { AppendOrder, CommitOutcome } from '../ledger/session-writer.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { GuardedMessage, GuardedOutcome, GuardedPublisher } from './guarded-publish.ts';
import {
  lineBytesOf,
  MESSAGE_RECORDS,
  nonceOf,
  type OwnershipKind,
  ownershipBody,
  ownershipHeaders,
  ownershipKind,
  placeOf,
  recordHeaders,
  recordsBody,
  rowsOf,
} from './ledger-message.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import { type Claim, type PackedRecords, SessionState } from './session-state.ts';
import type { SequencedMessage, StreamReader } from './stream-reader.ts';
import { readSubject } from './subject-messages.ts';

export interface SessionClaimsOptions {
  readonly reader: StreamReader;
  readonly publisher: GuardedPublisher;
  readonly subjects: LedgerSubjects;
  readonly withinMs: number;
  /** Name of this owner. */
  readonly owner: string;
  /** Whether the server holds another owner for alive. */
  isAlive(owner: string): Promise<boolean>;
  /** Bytes of a message with its headers. */
  maxPayload(): number;
  /** Tries again what the server could not do for a moment. */
  steady<T>(work: () => Promise<T>): Promise<T>;
}

/** A session that is owned, in whose name, and how it stands. */
export interface ClaimedSession {
  readonly type: 'claimed';
  readonly state: SessionState;
  readonly claim: Claim;
}

/** What became of an attempt to own a session. */
export type ClaimOutcome = ClaimedSession | { readonly type: 'owned'; readonly owner: string };

/** A session as this process saw it last; `isFree` where it had no owner then. */
interface KnownSession {
  readonly state: SessionState;
  readonly isFree: boolean;
}

/** Room for the headers of a message: names of at most 256 characters, which may become six times as many. */
const HEADER_BYTES = 4_096;

/**
 * Who writes to a session. Whoever wants to puts a claim behind its last message, on the condition that it is the last
 * one; from then on no append of an older writer can be stored, as each is on that condition too.
 */
export class SessionClaims {
  readonly #options: SessionClaimsOptions;
  /**
   * How sessions stood that this process gave back, or found to be empty. A claim is tried on that first, and reading
   * them again begins there.
   */
  readonly #known = new Map<string, KnownSession>();

  constructor(options: SessionClaimsOptions) {
    this.#options = options;
  }

  /** @throws SwarmError 'ledger-unavailable', 'ledger-corrupt', 'ledger-newer-schema' */
  async claim(identity: SessionIdentity): Promise<ClaimOutcome> {
    const { session } = identity;
    const known = this.#known.get(session);
    if (known?.isFree === true) {
      this.#known.delete(session);
      const claimed = await this.#take(known.state, identity);
      if (claimed !== undefined) return claimed;
      // Others had it meanwhile.
      this.#note(session, known.state);
    }
    for (;;) {
      const { owner, isAlive, steady } = this.#options;
      const last = await steady(() => this.#options.reader.last(this.#subject(session)));
      const holder = last === undefined ? undefined : placeOf(last, `session ${session}`).owner;
      if (holder !== undefined && holder !== owner && (await steady(() => isAlive(holder)))) {
        return { type: 'owned', owner: holder };
      }
      const state = await steady(() => this.#load(session, last?.sequence ?? 0));
      if (state.lastSequence !== (last?.sequence ?? 0)) {
        // Somebody came in between, perhaps an owner: look who.
        this.#note(session, state);
        continue;
      }
      const claimed = await this.#take(state, identity);
      if (claimed !== undefined) return claimed;
    }
  }

  /**
   * A session that nobody has written to. Nothing is sent: its first append is the claim too, on the condition that
   * there is no message before it.
   */
  begin(identity: SessionIdentity): ClaimedSession {
    const state = new SessionState(identity.session);
    const claim = { identity, epoch: state.epoch + 1, owner: this.#options.owner };
    state.keepOwnership(claim.epoch, 0);
    return { type: 'claimed', state, claim };
  }

  /** Puts a claim behind the last message that is known; undefined where it is not the last one any more. */
  async #take(state: SessionState, identity: SessionIdentity): Promise<ClaimedSession | undefined> {
    const claim = {
      identity: state.identity ?? identity,
      epoch: state.epoch + 1,
      owner: this.#options.owner,
    };
    const outcome = await this.#own(state, claim, 'claim');
    if (outcome.type === 'stored') return { type: 'claimed', state, claim };
    if (outcome.type === 'overtaken') return undefined;
    throw unavailable(`${identity.session} could not be claimed`, outcome);
  }

  /** Stores the records of an order, all or none; the state goes on with them. */
  async append({ state, claim }: ClaimedSession, order: AppendOrder): Promise<CommitOutcome> {
    const [first] = order.rows;
    if (first === undefined) return { type: 'committed' };
    const room = this.#options.maxPayload() - HEADER_BYTES;
    const packed = packRecords(order.rows, room);
    if (packed === undefined) return reject('limit', `a record over ${room} bytes, which no message holds`);
    const { identity, epoch } = claim;
    const place = state.placeAfter(order, order.releases ? { identity, epoch } : claim);
    const messages = packed.map(({ rows }, index) => ({
      payload: recordsBody(rows),
      headers: recordHeaders(rows[0]?.record.seq ?? 0, index === packed.length - 1 ? place : undefined),
    }));
    const isOwn = (message: SequencedMessage) => {
      if (ownershipKind(message) !== undefined) return false;
      return rowsOf(message, claim.identity.session)[0]?.hash === first.hash;
    };
    const outcome = await this.#publish(claim, state.lastSequence, messages, isOwn);
    switch (outcome.type) {
      case 'stored':
        state.keep(packed, outcome.last);
        if (order.releases) this.#note(identity.session, state, true);
        return { type: 'committed' };
      case 'overtaken':
        return reject('fenced', `epoch ${claim.epoch} is over, the session has another writer`);
      case 'refused':
        return reject('limit', outcome.message);
      case 'unknown':
        return { type: 'indeterminate', cause: outcome.cause };
    }
  }

  /** Gives a session back. One that has another writer by now is left alone. @throws SwarmError 'ledger-unavailable' */
  async release({ state, claim }: ClaimedSession): Promise<void> {
    const { identity, epoch } = claim;
    // Nothing was sent of it.
    if (state.lastSequence === 0) return;
    const outcome = await this.#own(state, { identity, epoch }, 'release');
    if (outcome.type === 'stored') this.#note(identity.session, state, true);
    if (outcome.type === 'stored' || outcome.type === 'overtaken') return;
    throw unavailable(`${identity.session} could not be given back`, outcome);
  }

  /**
   * Gives a session back that stands in the name of this owner though no writer has it any more; any other is left
   * alone. What such a writer sent and was not answered for is not stored after this.
   * @throws SwarmError 'ledger-unavailable', 'ledger-corrupt', 'ledger-newer-schema'
   */
  async giveUp(identity: SessionIdentity): Promise<void> {
    const { session } = identity;
    const { owner, steady } = this.#options;
    for (;;) {
      const last = await steady(() => this.#options.reader.last(this.#subject(session)));
      if (last !== undefined && placeOf(last, `session ${session}`).owner !== owner) return;
      // Where there is nothing yet, what was sent first may still be on its way.
      const state = await steady(() => this.#load(session, last?.sequence ?? 0));
      const claim = { identity: state.identity ?? identity, epoch: state.epoch };
      const outcome = await this.#own(state, claim, 'release');
      this.#note(session, state, outcome.type === 'stored');
      if (outcome.type === 'stored') return;
      // Something came behind it, perhaps what was sent last: look what.
      if (outcome.type !== 'overtaken') throw unavailable(`${session} could not be given back`, outcome);
    }
  }

  /** Where a session that was given back stood, if it is known. */
  known(session: string): SessionState | undefined {
    return this.#known.get(session)?.state;
  }

  /** Somebody looked at a session, and there was nothing. */
  noteEmpty(session: string): void {
    if (!this.#known.has(session)) this.#note(session, new SessionState(session), true);
  }

  async #own(state: SessionState, claim: Claim, kind: OwnershipKind): Promise<GuardedOutcome> {
    const nonce = randomBytes(12).toString('hex');
    const headers = ownershipHeaders(state.placeAfter(undefined, claim), kind);
    const message = { payload: ownershipBody(kind, nonce), headers };
    const isOwn = (found: SequencedMessage) => nonceOf(found) === nonce;
    const outcome = await this.#publish(claim, state.lastSequence, [message], isOwn);
    if (outcome.type === 'stored') state.keepOwnership(claim.epoch, outcome.last);
    return outcome;
  }

  #publish(
    { identity }: Claim,
    expected: number,
    messages: readonly GuardedMessage[],
    isOwn: (message: SequencedMessage) => boolean,
  ): Promise<GuardedOutcome> {
    const subject = this.#subject(identity.session);
    return this.#options.publisher.publish({ subject, expected, messages, isOwn }, this.#options.withinMs);
  }

  /** Everything up to a message, verified. */
  async #load(session: string, atLeast: number): Promise<SessionState> {
    const known = this.known(session);
    // Fed from here on, by one reader only; a reader that fails must not leave half of it.
    this.#known.delete(session);
    const state = known ?? new SessionState(session);
    const { reader } = this.#options;
    const filter = this.#subject(session);
    for await (const message of readSubject(reader, { filter, from: state.lastSequence + 1, atLeast })) {
      state.feed(message);
    }
    return state;
  }

  #note(session: string, state: SessionState, isFree = false): void {
    this.#known.set(session, { state, isFree });
    const [oldest] = this.#known.keys();
    if (this.#known.size > NATS_LIMITS.knownSessions && oldest !== undefined) this.#known.delete(oldest);
  }

  #subject(session: string): string {
    return this.#options.subjects.session(session);
  }
}

/** As few messages as hold the records in their order; undefined where a record fits into none. */
function packRecords(rows: readonly SealedRecord[], maxBytes: number): readonly PackedRecords[] | undefined {
  const packed: { rows: SealedRecord[]; bytes: number }[] = [];
  for (const row of rows) {
    const bytes = lineBytesOf(row);
    if (bytes > maxBytes) return undefined;
    const last = packed.at(-1);
    if (last === undefined || last.bytes + bytes > maxBytes || last.rows.length >= MESSAGE_RECORDS) {
      packed.push({ rows: [row], bytes });
    } else {
      last.rows.push(row);
      last.bytes += bytes;
    }
  }
  return packed;
}

function unavailable(what: string, outcome: GuardedOutcome): SwarmError {
  const cause = outcome.type === 'unknown' ? outcome.cause : undefined;
  return new SwarmError('ledger-unavailable', cause === undefined ? what : `${what}: ${cause.message}`, {
    cause,
  });
}
