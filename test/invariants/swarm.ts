import type { LedgerRecord } from '../../src/ledger/records.ts';
import { events } from './bus.ts';
import { calls, executions } from './calls.ts';
import { acknowledged, chain, epochs } from './chain.ts';
import { approvals, permissions, steering } from './people.ts';
import { leaks, remains } from './remains.ts';
import { beforeRequest, pairs, steeringIn } from './requests.ts';
import { ceilings, children, visibility } from './tree.ts';
import { ends, listing, prefixes, turns } from './turns.ts';
import { usage } from './usage.ts';
import type { SwarmWitness } from './witness.ts';

/** What one invariant came to. */
export interface Check {
  readonly invariant: string;
  /** What it was looked for in, with counts: a check that saw nothing proves nothing. */
  readonly saw: string;
  /** Empty = it holds. */
  readonly broken: readonly string[];
}

/** Every invariant over everything that was seen of a swarm. */
export function checkSwarm(witness: SwarmWitness): readonly Check[] {
  const { sessions, bounds, remains: left } = witness;
  const { requests, entries, events: stored, delivered, told } = witness;
  const each = (check: (records: readonly LedgerRecord[]) => readonly string[]) =>
    [...sessions].flatMap(([session, records]) => check(records).map((line) => `${line} [${session}]`));
  const all = [...sessions.values()].flat();
  const count = (...types: LedgerRecord['type'][]) => all.filter(({ type }) => types.includes(type)).length;
  const asked = requested(witness);
  const ofRequests = (invariant: string) => asked.filter((line) => line.startsWith(`${invariant} `));
  const row = (invariant: string, saw: string, ...broken: (readonly string[])[]): Check => ({
    invariant,
    saw,
    broken: broken.flat(),
  });
  return [
    row('I1', `${all.length} records of ${sessions.size} sessions`, each(chain)),
    row('I2', `${told.length} facts somebody was told of`, acknowledged(sessions, told)),
    row('I3', `${new Set(all.map(({ session, epoch }) => `${session} ${epoch}`)).size} epochs`, each(epochs)),
    row('I4', `${count('turn.opened')} turns`, each(turns), each(ends), listing(sessions, left.open)),
    row('I5', `${count('tool.called')} calls`, each(calls)),
    row('I6', `${entries.length} entries of tools`, entered(witness)),
    row('I7', `${requests.length} requests`, ofRequests('I7')),
    row('I8', `${requests.length} requests`, ofRequests('I8')),
    row('I9', `${count('step.opened')} steps`, each(visibility), ceilings(sessions, bounds)),
    row(
      'I10',
      `${count('permission.decided')} decisions`,
      each((one) => permissions(one, bounds.gated)),
    ),
    row(
      'I11',
      `${count('steering.accepted')} texts, ${count('permission.requested')} requests`,
      ...[each(steering), each(approvals), ofRequests('I11')],
    ),
    row('I12', `${count('child.intended')} children`, children(sessions)),
    row(
      'I13',
      `${stored.length} events, ${delivered.length} delivered`,
      ...[events(sessions, stored, 'stored'), events(sessions, delivered, 'delivered')],
    ),
    row('I14', `${all.length} prefixes`, each(prefixes)),
    row('I15', `${left.exitCodes.length} processes, ${left.queued} queued`, remains(left), each(usage)),
    row('secrets', `${witness.said.length} characters`, hidden(witness)),
  ];
}

/** Everything that is broken, one line each. */
export function brokenIn(checks: readonly Check[]): readonly string[] {
  return checks.flatMap(({ broken }) => broken);
}

/** I6, with the time at which the store had an intent in the place of what was durable at an entry. */
function entered({ sessions, entries, storedAt }: SwarmWitness): readonly string[] {
  return [...Map.groupBy(entries, ({ session }) => session)].flatMap(([session, own]) => {
    const records = sessions.get(session) ?? [];
    const seen = own.map(({ operationId, at }) => ({
      operationId,
      durable: durableAt(records, storedAt, at),
    }));
    return executions(records, seen);
  });
}

/**
 * I7, I8, I11. What a request owes is read off the facts it was made of. A process that stood still sends late what it
 * made before, so these are the facts up to one of the attempts that were durable by then, of which one has to fit.
 */
function requested({ sessions, requests, storedAt }: SwarmWitness): readonly string[] {
  return requests.flatMap(({ session, at, messages }, index) => {
    const known = durableAt(sessions.get(session) ?? [], storedAt, at);
    const attempts = known.filter(({ type }) => type === 'attempt.started');
    if (attempts.length === 0) return [`I7 request ${index} of ${session}: no attempt is durable`];
    const found = attempts.map(({ seq }) => {
      const seen = { messages, durable: known.slice(0, seq) };
      return [...beforeRequest(seen, index), ...pairs(seen, index), ...steeringIn(seen, index)];
    });
    return found.some((broken) => broken.length === 0) ? [] : (found.at(-1) ?? []);
  });
}

function durableAt(
  records: readonly LedgerRecord[],
  storedAt: ReadonlyMap<string, number>,
  at: number,
): readonly LedgerRecord[] {
  const end = records.findIndex(({ id }) => (storedAt.get(id) ?? Number.POSITIVE_INFINITY) > at);
  return end === -1 ? records : records.slice(0, end);
}

function hidden({ sessions, events: stored, said, secrets }: SwarmWitness): readonly string[] {
  return leaks(secrets, {
    ledger: JSON.stringify([...sessions.values()]),
    events: JSON.stringify(stored),
    output: said,
  });
}
