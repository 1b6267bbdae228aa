import type { ChildEnd } from '../agent/child-sessions.ts';
import { SwarmError } from '../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NewRecord, RecordData } from '../ledger/records.ts';
import { toPlainJson } from '../tools/plain-json.ts';
import type { HandedResult } from './operator-prompt.ts';
import { itemStatus } from './swarm-status.ts';
import type { WorkState } from './work-state.ts';

/** What became of a work in a child session. The others are open still. */
export type SettledEnd = Extract<ChildEnd, { readonly type: 'completed' | 'failed' | 'cancelled' | 'lost' }>;

/** Where results that are too large for a record lie. */
export interface ResultStore {
  readonly ledger: Pick<Ledger, 'putArtifact' | 'getArtifact'>;
  readonly maxInlineBytes: number;
}

/** How an attempt of a work ended, as its fact. */
export async function finishedFact(
  work: WorkState,
  end: SettledEnd,
  store: ResultStore,
  durationMs: number,
): Promise<NewRecord> {
  const { operator } = work;
  const { usage, steps, toolCalls, last } = end;
  const { total } = usage;
  const spent = { steps, toolCalls, ...(Object.keys(total).length > 0 ? { usage: total } : {}) };
  const data: RecordData<'node.finished'> = {
    work: work.work,
    node: operator.spec.operator,
    attempt: Math.max(1, work.lastAttempt),
    ...(await outcomeOf(end, store)),
    ...(operator.session === undefined ? {} : { child: operator.session }),
    ...(last.head === undefined ? {} : { head: { seq: last.head.seq, hash: last.head.hash } }),
    spent,
    durationMs,
  };
  return { type: 'node.finished', data };
}

type Outcome = Pick<RecordData<'node.finished'>, 'status' | 'output' | 'outputRef' | 'error'>;

async function outcomeOf(end: SettledEnd, store: ResultStore): Promise<Outcome> {
  switch (end.type) {
    case 'completed':
      return { status: 'completed', ...(await keptOutput(end, store)) };
    case 'cancelled':
      return { status: 'cancelled', error: { kind: 'cancelled', message: end.reason } };
    case 'failed':
    case 'lost':
      return { status: 'failed', error: end.failure };
  }
}

async function keptOutput(
  { output, text }: Extract<SettledEnd, { readonly type: 'completed' }>,
  { ledger, maxInlineBytes }: ResultStore,
): Promise<Pick<Outcome, 'output' | 'outputRef'>> {
  // What a schema makes of an answer may be anything.
  const value = toPlainJson(output ?? text);
  const json = JSON.stringify(value);
  if (Buffer.byteLength(json) <= maxInlineBytes) return { output: value };
  return { outputRef: await ledger.putArtifact(Buffer.from(json), 'application/json') };
}

/** A work that ended without having been entered, as its fact. */
export function unenteredFact(
  work: WorkState,
  status: 'failed' | 'cancelled',
  error: { readonly kind: string; readonly message: string },
): NewRecord {
  const node = work.operator.spec.operator;
  // Attempts count from 1: this is none of them.
  return {
    type: 'node.finished',
    data: { work: work.work, node, attempt: 0, status, error, durationMs: 0 },
  };
}

/**
 * The committed result of a settled work as text.
 * @throws SwarmError 'artifact-missing', 'artifact-corrupt'
 */
export async function resultText(work: WorkState, { ledger }: Pick<ResultStore, 'ledger'>): Promise<string> {
  const { outcome } = work;
  if (outcome?.status === 'completed') {
    if (outcome.outputRef !== undefined) {
      return asText(JSON.parse(new TextDecoder().decode(await ledger.getArtifact(outcome.outputRef))));
    }
    // Nobody goes on with a result that is not there.
    if (outcome.output === undefined) throw new SwarmError('artifact-missing', `${work.work} has no result`);
    return asText(outcome.output);
  }
  const { error } = outcome ?? {};
  if (error !== undefined) return `${error.kind}: ${error.message}`;
  return work.stopped?.reason ?? work.skipped ?? 'it did not run';
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What a settled work hands on. @throws SwarmError as {@link resultText} */
export async function handedResult(
  work: WorkState,
  store: Pick<ResultStore, 'ledger'>,
): Promise<HandedResult> {
  const { spec } = work.operator;
  return {
    work: work.work,
    agent: spec.target ?? spec.operator,
    status: itemStatus(work, false),
    text: await resultText(work, store),
  };
}
