import type { LedgerRecord } from '../ledger/records.ts';
import { SessionChain } from './session-chain.ts';
import type { SessionState } from './session-state.ts';
import type { StreamReader } from './stream-reader.ts';
import { readSubject } from './subject-messages.ts';

/** Which records of which session. */
export interface SessionReading {
  readonly session: string;
  /** Subject of the session. */
  readonly filter: string;
  readonly fromSeq: number;
  /** What is known of the session already: where to begin, and how far it reaches at least. */
  readonly state: SessionState | undefined;
}

/**
 * Records of a session in order, verified.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected', 'ledger-corrupt', 'ledger-newer-schema'
 */
export async function readSession(
  reader: StreamReader,
  { session, filter, fromSeq, state }: SessionReading,
): Promise<readonly LedgerRecord[]> {
  const first = Math.max(1, Math.trunc(fromSeq));
  const start = state?.startOf(first) ?? { seq: 1, sequence: 1 };
  const chain = new SessionChain(session, start.seq === 1 ? undefined : { seq: start.seq - 1 });
  const records: LedgerRecord[] = [];
  let last: Parameters<SessionChain['next']>[0] | undefined;
  for await (const message of readSubject(reader, {
    filter,
    from: start.sequence,
    atLeast: state?.lastSequence ?? 0,
  })) {
    for (const record of chain.next(message)) if (record.seq >= first) records.push(record);
    last = message;
  }
  if (last !== undefined) chain.checkPlace(last);
  return records;
}
