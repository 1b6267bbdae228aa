import type { JsonValue } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerRecord, NewRecord, RecordData, RecordOf } from '../ledger/records.ts';
import { toldOfSession } from '../ledger/run-standing.ts';
import { foldSession, type TurnFacts } from '../ledger/turn-facts.ts';
import { createUsageMeter } from '../turn/usage-meter.ts';
import { closedOutcome } from './closed-outcome.ts';
import type { AnyAgent } from './define-agent.ts';
import { handoffTarget } from './handoff-chain.ts';
import { type RunResult, resultOf } from './run-result.ts';
import { leftInTree } from './run-turn-job.ts';
import { tallyTree } from './tally-tree.ts';
import { type LastOutcome, refusedOutcome } from './turn-outcome.ts';

type Settled = RecordData<'run.settled'>;

/** Characters of an output that stand in the fact; a longer one is kept as an artifact. */
const MAX_OUTPUT_CHARS = 65_536;

/** Characters of the text of a run that did not complete. */
const MAX_TEXT_CHARS = 65_536;

/**
 * The fact of what became of a run. `isGraph`: what it yields is in no turn of an agent, so it is kept here.
 * @throws SwarmError of the ledger
 */
export async function settledFact(
  result: RunResult<unknown>,
  run: Pick<Settled, 'run' | 'by' | 'pool'> & { readonly isGraph: boolean },
  ledger: Pick<Ledger, 'putArtifact'>,
): Promise<NewRecord> {
  const { status, usage, steps, toolCalls } = result;
  const { isGraph, ...ids } = run;
  const counted = { ...ids, status, usage, steps, toolCalls };
  return { type: 'run.settled', data: { ...counted, ...(await endingOf(result, isGraph, ledger)) } };
}

async function endingOf(
  result: RunResult<unknown>,
  isGraph: boolean,
  ledger: Pick<Ledger, 'putArtifact'>,
): Promise<Partial<Settled>> {
  switch (result.status) {
    case 'completed': {
      const { stopReason, output } = result;
      return { stopReason, ...(isGraph && output !== undefined ? await keptOutput(output, ledger) : {}) };
    }
    case 'paused':
      return { pause: result.reason };
    case 'failed':
      return { error: result.error, ...keptText(result.text) };
    case 'cancelled':
      return { reason: result.reason, ...keptText(result.text) };
  }
}

function keptText(text: string): { readonly text?: string } {
  return text === '' ? {} : { text: text.slice(0, MAX_TEXT_CHARS) };
}

async function keptOutput(output: unknown, ledger: Pick<Ledger, 'putArtifact'>): Promise<Partial<Settled>> {
  const json = JSON.stringify(output);
  if (json.length <= MAX_OUTPUT_CHARS) return { output: JSON.parse(json) as JsonValue };
  return { outputRef: await ledger.putArtifact(Buffer.from(json, 'utf8'), 'application/json') };
}

/** Where to look up what a fact only points to. */
export interface SettledPlace {
  readonly ledger: Ledger;
  /** All records of the session, where whoever asks has them. */
  readonly records?: readonly LedgerRecord[] | undefined;
  /** The agent whose turns the session has; absent for a graph. */
  readonly agent: AnyAgent | undefined;
  /** Agents that are named and not given. */
  readonly named: ReadonlyMap<string, AnyAgent>;
}

/**
 * The result of a run that workers brought to an end or a pause, as it would have been in this process.
 * @throws SwarmError of the ledger
 */
export async function resultOfSettled(
  record: RecordOf<'run.settled'>,
  place: SettledPlace,
): Promise<RunResult<unknown>> {
  const { status, usage, steps, toolCalls, text = '', error, reason = '', pause } = record.data;
  const counted = { usage, steps, toolCalls };
  switch (status) {
    case 'failed':
      return { status, error: error ?? { kind: 'machine-fault', message: reason }, text, ...counted };
    case 'cancelled':
      return { status, reason, text, ...counted };
    case 'paused': {
      const open = await leftInTree(place.ledger, record.session);
      return { status, reason: pause ?? 'approval', ...open, ...counted };
    }
    case 'completed': {
      const { stopReason = 'end-turn' } = record.data;
      return { status, stopReason, ...(await yielded(record, place)), ...counted };
    }
  }
}

type Yield = { readonly output: unknown; readonly text: string };

async function yielded(record: RecordOf<'run.settled'>, place: SettledPlace): Promise<Yield> {
  const { ledger, agent } = place;
  const { output, outputRef } = record.data;
  if (agent === undefined) {
    return yieldOf(outputRef === undefined ? output : await readJson(await ledger.getArtifact(outputRef)));
  }
  const records = place.records ?? (await ledger.read(record.session));
  const before = records.filter(({ seq }) => seq < record.seq);
  const end = await endOfTurns(foldSession(before).turns, { ...place, agent });
  return end?.type === 'completed' ? end : { output: '', text: '' };
}

function readJson(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString('utf8'));
}

function yieldOf(output: unknown): Yield {
  return { output, text: typeof output === 'string' ? output : (JSON.stringify(output) ?? '') };
}

/** How the last turn that ended came out: the one of the session, or the one it handed over to. */
async function endOfTurns(
  turns: readonly TurnFacts[],
  { ledger, named, agent: first }: SettledPlace & { readonly agent: AnyAgent },
): Promise<LastOutcome | undefined> {
  let agent = first;
  let turn = lastClosed(turns);
  const before = { steps: 0, toolCalls: 0 };
  while (turn?.closed !== undefined) {
    const outcome = await closedOutcome(turn, turn.closed, agent, ledger);
    const steps = before.steps + outcome.steps;
    const toolCalls = before.toolCalls + outcome.toolCalls;
    if (outcome.type !== 'handed-off') return { ...outcome, steps, toolCalls };
    Object.assign(before, { steps, toolCalls });
    // One that this process does not know has text for an output, as far as anybody here can tell.
    agent = handoffTarget(agent, named, outcome.handoff.to) ?? { ...agent, output: undefined };
    turn = lastClosed(foldSession(await ledger.read(outcome.handoff.session)).turns);
  }
  return undefined;
}

function lastClosed(turns: readonly TurnFacts[]): TurnFacts | undefined {
  return turns.findLast(({ closed }) => closed !== undefined);
}

/**
 * What there is to tell of a run that was to be taken up and has nothing open: how it ended, where its process went
 * before that was told; undefined where it was told, and nobody asks.
 * @throws SwarmError of the ledger
 */
export async function endedFact(
  session: string,
  ids: Pick<Settled, 'run' | 'by' | 'pool'>,
  place: SettledPlace,
): Promise<NewRecord | undefined> {
  const records = await place.ledger.read(session);
  const told = toldOfSession(records);
  const { turns } = foldSession(records);
  const last = lastClosed(turns);
  const asks = ids.by ?? ids.run;
  if (last === undefined && ids.by !== undefined) return { type: 'run.settled', data: nothingOpen(asks) };
  const isTold = told !== undefined && told.data.status !== 'paused' && told.data.run === ids.run;
  if (last === undefined || (isTold && ids.by === undefined)) return undefined;
  if (!isTold) {
    const isGraph = place.agent === undefined;
    return settledFact(await endedResult(records, ids.run, place), { ...ids, isGraph }, place.ledger);
  }
  // A wake came first: who asked for it to be taken up is told how it ended then.
  const wasResumed = records.some(({ type, turn }) => type === 'turn.resumed' && turn === last.turnId);
  return {
    type: 'run.settled',
    data: wasResumed ? { ...told.data, run: asks } : nothingOpen(asks),
  };
}

function nothingOpen(run: string): Settled {
  const error = { kind: 'nothing-to-resume', message: 'the session has no open turn' };
  const usage = { total: {}, byAgent: {}, reported: {} };
  return { run, status: 'failed', error, usage, steps: 0, toolCalls: 0 };
}

async function endedResult(
  records: readonly LedgerRecord[],
  run: string,
  place: SettledPlace,
): Promise<RunResult<unknown>> {
  const { ledger, agent } = place;
  const turns = foldSession(records).turns.filter(({ opened }) => opened.data.run === run);
  const meter = createUsageMeter();
  const tally = await tallyTree(ledger, agent?.name ?? '', turns);
  for (const report of tally.reports) meter.noteBefore(report.agent, report.usage, report.complete);
  const closed = lastClosed(turns)?.closed?.data;
  const outcome: LastOutcome | undefined =
    agent === undefined && closed?.status === 'completed'
      ? { ...closed, ...yieldOf(closed.output), type: 'completed' }
      : await endOfTurns(turns, { ...place, agent: agent ?? NOBODY });
  const failure = { kind: 'machine-fault', message: 'the run ended without a word' };
  return resultOf(outcome ?? refusedOutcome(failure), meter);
}

/** Of a graph no agent has turns; what went wrong with it stands in its own. */
const NOBODY = { handoffs: [], output: undefined } as unknown as AnyAgent;
