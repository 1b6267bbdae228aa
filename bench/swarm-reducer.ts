import { Schedule } from '../src/graph/schedule.ts';
import { fingerprintOf } from '../src/graph/schedule-update.ts';
import { GENESIS_HASH, type LedgerRecord } from '../src/ledger/records.ts';
import { median, rounded } from './statistics.ts';

const OPERATORS = 10_000;
const RECORDS = 100_000;
const REPEATS = 5;
/** Works of one update, as many as fit a batch of a ledger. */
const WORKS_AN_UPDATE = 1_000;

const GATES = { foldMs: 1_000, oneMoreMs: 1 } as const;

const GRAPH = 's-graph';

/** Facts of a swarm in which every operator ran one work, and records of all of them in turn. */
function factsOf(operators: number, records: number): readonly LedgerRecord[] {
  const facts: LedgerRecord[] = [];
  const heads = new Map<string, number>();
  const write = (type: string, data: object, session = GRAPH): void => {
    const seq = (heads.get(session) ?? 0) + 1;
    heads.set(session, seq);
    const place = { session, root: GRAPH, agent: 'a', id: `${session}:${seq}`, seq, at: facts.length };
    const chain = { v: 1, epoch: 1, tv: 1, prev: GENESIS_HASH, hash: GENESIS_HASH };
    // The fold looks at nothing else of a record; its type and data are written side by side below.
    facts.push({ type, data, ...place, ...chain } as unknown as LedgerRecord);
  };
  const names = Array.from({ length: operators }, (_, at) => `op${at}`);
  for (let from = 0; from < operators; from += WORKS_AN_UPDATE) updateOf(names, from, write);
  for (const name of names) {
    write('graph.readied', { work: name, operator: name, inputs: [] });
    write('graph.claimed', { work: name, operator: name, activation: 1, revision: 1, child: `s-${name}` });
    write('node.started', { work: name, node: name, attempt: 1, operationId: `o-${name}` });
  }
  for (let at = 0; at < records; at += 1) {
    const message = { content: [], attempt: 1, provider: 'p', model: 'm' };
    write('assistant.message', message, `s-${names[at % operators]}`);
  }
  for (const name of names) {
    write('node.finished', { work: name, node: name, attempt: 1, status: 'completed', durationMs: 1 });
  }
  return facts;
}

function updateOf(names: readonly string[], from: number, write: (type: string, data: object) => void): void {
  const some = names.slice(from, from + WORKS_AN_UPDATE);
  const operators = some.map((operator) => ({ operator, kind: 'agent' as const, target: 'worker' }));
  const works = some.map((name, at) => {
    // Every tenth is a join of the nine before it.
    const inputs = at % 10 === 9 ? some.slice(at - 9, at) : [];
    return { work: name, operator: name, inputs, onError: 'collect' as const };
  });
  const request = { update: `u${from}`, operators, works };
  const fingerprint = fingerprintOf(request);
  write('graph.updated', { ...request, stops: [], revision: from / WORKS_AN_UPDATE + 1, fingerprint });
}

function fold(facts: readonly LedgerRecord[]): Schedule {
  const schedule = new Schedule(GRAPH);
  for (const fact of facts) schedule.apply(fact);
  return schedule;
}

function elapsedMs(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Folding a swarm of 10,000 operators and 100,000 records, and one more record after that. */
export function run() {
  const facts = factsOf(OPERATORS, RECORDS);
  const folds: number[] = [];
  const more: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    let schedule = new Schedule(GRAPH);
    folds.push(
      elapsedMs(() => {
        schedule = fold(facts);
      }),
    );
    if (schedule.status === 'corrupt' || schedule.count('completed') !== OPERATORS) {
      throw new Error(`the fold went wrong: ${schedule.faults[0]}`);
    }
    const last = facts.findLast((fact) => fact.type === 'assistant.message');
    if (last === undefined) throw new Error('no record was made');
    const next: LedgerRecord = { ...last, id: `${last.session}:next${repeat}`, seq: last.seq + 1 };
    more.push(elapsedMs(() => schedule.apply(next)));
  }
  const foldMs = median(folds);
  const oneMoreMs = median(more);
  const failed: string[] = [];
  if (foldMs > GATES.foldMs) failed.push(`fold, ms: ${rounded(foldMs)} > ${GATES.foldMs}`);
  if (oneMoreMs > GATES.oneMoreMs)
    failed.push(`one more record, ms: ${rounded(oneMoreMs)} > ${GATES.oneMoreMs}`);
  const row = { operators: OPERATORS, records: RECORDS, facts: facts.length };
  const rows = [{ ...row, foldMs: rounded(foldMs), oneMoreMs: rounded(oneMoreMs, 4) }];
  return Promise.resolve({ rows, json: { repeats: REPEATS, rows }, failed });
}
