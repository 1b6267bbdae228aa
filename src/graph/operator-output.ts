import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { cutChars, safeData } from '../tools/safe-text.ts';
import type { OperatorDriver } from './operator-driver.ts';
import { cutBytes } from './operator-prompt.ts';
import { operatorRecordOf } from './operator-records.ts';
import { itemStatus } from './swarm-status.ts';
import { type ResultStore, resultText } from './work-result.ts';
import { compareWorks, isSettled, type WorkState } from './work-state.ts';

/** What is asked of an operator's output. */
export interface OutputQuery {
  readonly view: 'result' | 'events' | 'all';
  readonly maxEvents: number;
  readonly maxBytes: number;
}

/** The session of an operator, read as it is when asked. */
export interface OutputSource extends Pick<ResultStore, 'ledger'> {
  read(session: string): Promise<readonly LedgerRecord[]>;
}

/** A work by its id, or the latest work of an operator. */
export function findTarget({ schedule }: OperatorDriver, target: string): WorkState | undefined {
  const work = schedule.works.get(target);
  if (work !== undefined) return work;
  return [...(schedule.operators.get(target)?.works ?? [])].sort(compareWorks).at(-1);
}

/**
 * What one work came to, within `maxBytes`: its committed result, and what its turn did.
 * @throws SwarmError 'artifact-missing', 'artifact-corrupt', and those of the ledger
 */
export async function operatorOutput(
  driver: OperatorDriver,
  work: WorkState,
  query: OutputQuery,
  source: OutputSource,
): Promise<JsonObject> {
  const { view, maxEvents, maxBytes } = query;
  const head: JsonObject = {
    work_id: work.work,
    operator_id: work.operator.spec.operator,
    agent: work.operator.spec.target ?? '',
    status: itemStatus(work, driver.isBlocked(work)),
  };
  // A share of the bytes each; what one leaves over is not worth a second pass.
  const share = view === 'all' ? Math.floor(maxBytes / 2) : maxBytes;
  const result = view === 'events' ? {} : { result: await resultOf(work, share, source) };
  const events =
    view === 'result' ? {} : { events: await eventsOf(driver, work, { share, maxEvents }, source) };
  return { ...head, ...result, ...events };
}

async function resultOf(work: WorkState, maxBytes: number, source: OutputSource): Promise<JsonValue> {
  if (!isSettled(work.status)) return null;
  const { text, bytes, originalBytes } = cutBytes(safeData(await resultText(work, source)), maxBytes);
  const isResult = work.status === 'completed';
  return {
    ...(isResult ? { result_id: work.work } : {}),
    text,
    ...(bytes < originalBytes ? { truncated: true, original_bytes: originalBytes } : {}),
  };
}

async function eventsOf(
  driver: OperatorDriver,
  work: WorkState,
  { share, maxEvents }: { readonly share: number; readonly maxEvents: number },
  source: OutputSource,
): Promise<JsonValue> {
  const { session } = work.operator;
  const entry = driver.live.entryOf(work);
  if (session === undefined || entry === undefined) return [];
  const records = await source.read(session);
  const turn = records.find(({ type, cause }) => type === 'turn.opened' && cause === entry)?.turn;
  const shown = records
    .filter((record) => record.turn === turn)
    .flatMap(eventOf)
    .slice(-maxEvents);
  const kept: JsonObject[] = [];
  let bytes = 0;
  // The newest are kept where not all have room.
  for (const event of shown.reverse()) {
    bytes += Buffer.byteLength(JSON.stringify(event));
    if (bytes > share) break;
    kept.unshift(event);
  }
  return kept;
}

/** Characters of a text in an event. */
const EVENT_CHARS = 1_000;

function eventOf(record: LedgerRecord): readonly JsonObject[] {
  const facet = operatorRecordOf(record)?.facet;
  if (facet === undefined) return [];
  return [{ kind: facet, ...whatOf(record) }];
}

function whatOf(record: LedgerRecord): JsonObject {
  switch (record.type) {
    case 'assistant.message': {
      const text = record.data.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
      return { text: cutChars(safeData(text), EVENT_CHARS) };
    }
    case 'tool.called':
    case 'tool.dispatched':
      return { tool: record.data.toolName };
    case 'tool.settled':
      return { tool: record.data.toolName, status: record.data.status };
    case 'tool.refused':
      return { tool: record.data.toolName, status: record.data.code };
    case 'permission.requested':
      return { tool: record.data.toolName };
    case 'permission.decided':
      return { status: record.data.decision };
    case 'step.closed':
      return { status: record.data.failure?.kind ?? 'failed' };
    case 'turn.closed':
      return { status: record.data.status };
    default:
      return {};
  }
}
