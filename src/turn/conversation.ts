import { createHash } from 'node:crypto';
import { argumentsOf } from '../ledger/call-arguments.ts';
import type { AssistantPart, JsonObject, ToolOutput, UserPart } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { loadOutput, loadParts } from '../ledger/media.ts';
import type { LedgerRecord, RecordOf } from '../ledger/records.ts';
import type { PromptAssistantPart, PromptCall, PromptMessage, PromptToolResult } from '../model/adapter.ts';
import { invocationOf } from '../tools/invoke-tools.ts';
import { withoutMedia } from './drop-media.ts';
import { foldMessages, type MessagePlace } from './fold-span.ts';
import type { ResultPlace } from './prune-results.ts';

/** A call of the history with what is needed to replay it. */
interface HistoryCall {
  readonly callId: string;
  readonly wireId: string;
  readonly called: RecordOf<'tool.called'>;
  readonly args: JsonObject;
  output?: ToolOutput;
}

/** The step whose calls do not all have results yet. */
interface OpenStep {
  readonly message: RecordOf<'assistant.message'>;
  readonly calls: HistoryCall[];
  /** The fact that ends the step was seen: no further call follows. */
  closed?: boolean;
}

/**
 * The messages a session's facts amount to. Grows with the ledger and only at its end: each request's
 * messages extend those of the one before, so a provider's prompt cache keeps its prefix; only a checkpoint
 * takes the place of what it covers. A call and its result are appended together or not at all.
 */
export interface Conversation {
  /**
   * Reads what the ledger holds now, and returns the messages. Only new records are read: the hash chain
   * proves that everything before the last known record is what it was; if that record differs, all is
   * read again.
   * @throws SwarmError 'ledger-unavailable', 'ledger-corrupt' when the reader fails
   */
  reload(): Promise<readonly PromptMessage[]>;
  /** As the last `reload` left them. */
  readonly messages: readonly PromptMessage[];
  /** Where each message of the last `reload` comes from, in the same order. */
  readonly places: readonly MessagePlace[];
  /** What is known of a result in it, by wire id. */
  placeOf(wireId: string): ResultPlace | undefined;
  /** Sequence of the fact that holds a result, also of one that is in no message any more. */
  seqOf(handle: string): number | undefined;
  /** Sequence up to which facts are included. */
  readonly upToSeq: number;
}

/** `replayName` maps a stored tool name to one every provider accepts. */
export function createConversation(
  ledger: Ledger,
  session: string,
  replayName: (name: string) => string,
): Conversation {
  let fold = new Fold(ledger, replayName);

  async function reload(): Promise<readonly PromptMessage[]> {
    const known = fold.last;
    const records = await ledger.read(session, known?.seq ?? 1);
    if (known === undefined) {
      await fold.add(records);
    } else if (records[0]?.hash === known.hash) {
      await fold.add(records.slice(1));
    } else {
      fold = new Fold(ledger, replayName);
      await fold.add(await ledger.read(session));
    }
    return fold.messages;
  }

  return {
    reload,
    get messages() {
      return fold.messages;
    },
    get places() {
      return fold.places;
    },
    placeOf: (wireId) => fold.results.get(wireId),
    seqOf: (handle) => fold.handles.get(handle),
    get upToSeq() {
      return fold.last?.seq ?? 0;
    },
  };
}

/** Folds records into messages, only ever adding at the end. */
class Fold {
  messages: PromptMessage[] = [];
  places: MessagePlace[] = [];
  readonly results = new Map<string, ResultPlace>();
  readonly handles = new Map<string, number>();
  last: LedgerRecord | undefined;
  readonly #ledger: Ledger;
  readonly #replayName: (name: string) => string;
  readonly #steering = new Map<string, string>();
  readonly #wireIds = new Set<string>();
  #open: OpenStep | undefined;
  /** The last unfinished answer of the step under way. */
  #partial: RecordOf<'assistant.message'> | undefined;

  constructor(ledger: Ledger, replayName: (name: string) => string) {
    this.#ledger = ledger;
    this.#replayName = replayName;
  }

  async add(records: readonly LedgerRecord[]): Promise<void> {
    for (const record of records) {
      // Most records are whole: nothing is waited for.
      if (mayLieOutside(record)) await this.#load(record);
      else this.#take(record);
      this.#closeStep(record);
      this.last = record;
    }
  }

  async #load(record: OutsideRecord): Promise<void> {
    switch (record.type) {
      case 'turn.opened': {
        const content = await loadParts(record.data.input, this.#ledger);
        this.#push(record, 'input', { role: 'user', content });
        break;
      }
      case 'tool.called':
        await this.#addCall(record);
        break;
      case 'tool.settled':
        this.#addResult(record, await loadOutput(record.data.output, this.#ledger));
        break;
    }
  }

  #take(record: LedgerRecord): void {
    switch (record.type) {
      case 'assistant.message':
        if (record.data.partial === true) this.#partial = record;
        else this.#open = { message: record, calls: [] };
        break;
      case 'tool.refused':
        this.#addResult(record, { type: 'error', text: record.data.text });
        break;
      case 'step.closed':
        this.#endAttempts(record);
        if (this.#open !== undefined) this.#open.closed = true;
        break;
      case 'compaction.committed':
        this.#fold(record);
        break;
      case 'overflow.recovered':
        this.#dropMedia(record);
        break;
      case 'output.rejected':
        if (record.data.via === 'text') this.#push(record, 'told', userText(record.data.text));
        break;
      case 'steering.accepted':
        this.#steering.set(record.data.id, record.data.text);
        break;
      case 'steering.injected':
        this.#push(record, 'told', { role: 'user', content: steeringParts(record.data.ids, this.#steering) });
        break;
      default:
        break;
    }
  }

  /** What an attempt had shown stands for the answer only where no attempt brought a whole one. */
  #endAttempts(closed: RecordOf<'step.closed'>): void {
    const partial = this.#partial;
    this.#partial = undefined;
    if (partial === undefined || closed.data.status === 'completed') return;
    const message = partialMessage(partial);
    if (message !== undefined) this.#push(closed, 'partial', message);
  }

  /** What the checkpoint covers is let go of; what was handed out before stays as it was. */
  #fold({ turn = '', seq, data }: RecordOf<'compaction.committed'>): void {
    const { coversSeq, summary } = data;
    const folded = foldMessages(this, { turn, seq, coversSeq, summary });
    this.messages = [...folded.messages];
    this.places = [...folded.places];
    for (const [wireId, place] of this.results) if (place.seq <= coversSeq) this.results.delete(wireId);
  }

  #dropMedia({ data }: RecordOf<'overflow.recovered'>): void {
    const { coversSeq = 0 } = data;
    this.messages = this.messages.map((message, at) =>
      (this.places[at]?.seq ?? 0) <= coversSeq ? withoutMedia(message) : message,
    );
  }

  #push(record: LedgerRecord, kind: MessagePlace['kind'], ...messages: readonly PromptMessage[]): void {
    for (const message of messages) {
      this.messages.push(message);
      this.places.push({ kind, seq: record.seq, turn: record.turn ?? '' });
    }
  }

  async #addCall(record: RecordOf<'tool.called'>): Promise<void> {
    if (this.#open === undefined || record.call === undefined) return;
    const args = await argumentsOf(record, this.#ledger);
    const wireId = uniqueWireId(record.data.wireId, record.call, this.#wireIds);
    this.#open.calls.push({ callId: record.call, wireId, called: record, args });
  }

  #addResult(record: RecordOf<'tool.settled'> | RecordOf<'tool.refused'>, output: ToolOutput): void {
    const call = this.#open?.calls.find((one) => one.callId === record.call);
    if (call === undefined) return;
    call.output = output;
    const place = resultPlace(call, record, output);
    this.results.set(call.wireId, place);
    this.handles.set(place.handle, place.seq);
  }

  /** Ends the open step when every call has a result, or when the turn is over and none will come any more. */
  #closeStep(record: LedgerRecord): void {
    const open = this.#open;
    if (open === undefined) return;
    if (
      record.type !== 'turn.closed' &&
      !(open.closed && open.calls.every((call) => call.output !== undefined))
    )
      return;
    this.#push(record, 'step', assistantMessage(open, this.#replayName));
    if (open.calls.length > 0) {
      const results = open.calls.map((call) => toolResult(call, this.#replayName));
      this.#push(record, 'step', { role: 'tool', results });
    }
    this.#open = undefined;
  }
}

/** A record whose content may lie in an artifact. */
type OutsideRecord = RecordOf<'turn.opened'> | RecordOf<'tool.called'> | RecordOf<'tool.settled'>;

function mayLieOutside(record: LedgerRecord): record is OutsideRecord {
  return record.type === 'turn.opened' || record.type === 'tool.called' || record.type === 'tool.settled';
}

/** Partial thinking has no signature and no answer after it; only text that was shown is worth keeping. */
function partialMessage(record: RecordOf<'assistant.message'>): PromptMessage | undefined {
  const content = record.data.content.filter((part) => part.type === 'text' && part.text !== '');
  if (content.length === 0) return undefined;
  return { role: 'assistant', content: content as PromptAssistantPart[], origin: originOf(record) };
}

function resultPlace(
  { called, callId }: HistoryCall,
  record: RecordOf<'tool.settled'> | RecordOf<'tool.refused'>,
  output: ToolOutput,
): ResultPlace {
  const { toolName, argsHash } = called.data;
  return {
    turn: record.turn ?? '',
    // An id of a call begins with that of its session.
    handle: callId.slice(record.session.length + 1),
    toolName,
    key: `${toolName} ${argsHash}`,
    isError: output.type === 'error',
    seq: record.seq,
  };
}

function userText(text: string): PromptMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function steeringParts(ids: readonly string[], steering: ReadonlyMap<string, string>): UserPart[] {
  return ids.map((id) => ({ type: 'text', text: steering.get(id) ?? '' }));
}

function originOf(record: RecordOf<'assistant.message'>): { provider: string; model: string } {
  return { provider: record.data.provider, model: record.data.model };
}

function assistantMessage(step: OpenStep, replayName: (name: string) => string): PromptMessage {
  const content: PromptAssistantPart[] = [];
  const placed = new Set<number>();
  const callPart = (ordinal: number): PromptAssistantPart | undefined => {
    const call = step.calls.find((one) => one.called.data.ordinal === ordinal);
    if (call === undefined || placed.has(ordinal)) return undefined;
    placed.add(ordinal);
    const { providerMetadata } = call.called.data;
    return {
      type: 'call',
      wireId: call.wireId,
      ...asWritten(call, replayName),
      ...(providerMetadata === undefined ? {} : { providerMetadata }),
    };
  };
  for (const part of step.message.data.content) pushPart(content, part, callPart);
  for (const call of step.calls) {
    const part = callPart(call.called.data.ordinal);
    if (part !== undefined) content.push(part);
  }
  return { role: 'assistant', content, origin: originOf(step.message) };
}

/** A call that was passed on stands in the history as the model made it. */
function asWritten(
  { called, args }: HistoryCall,
  replayName: (name: string) => string,
): Pick<PromptCall, 'toolName' | 'args'> {
  const { toolName, via } = called.data;
  if (via === undefined) return { toolName: replayName(toolName), args };
  return { toolName: replayName(via), args: invocationOf(toolName, args) };
}

function pushPart(
  content: PromptAssistantPart[],
  part: AssistantPart,
  callPart: (ordinal: number) => PromptAssistantPart | undefined,
): void {
  if (part.type !== 'call') {
    content.push(part);
    return;
  }
  const call = callPart(part.ordinal);
  if (call !== undefined) content.push(call);
}

function toolResult(call: HistoryCall, replayName: (name: string) => string): PromptToolResult {
  return {
    wireId: call.wireId,
    toolName: asWritten(call, replayName).toolName,
    output: call.output ?? { type: 'error', text: 'The turn ended before this call had a result.' },
  };
}

const USABLE_WIRE_ID = /^[\x21-\x7e]{1,128}$/;

/** Keeps a provider's own id where it can; a repeated or unusable one is replaced by one derived from the call. */
function uniqueWireId(written: string, callId: string, seen: Set<string>): string {
  let id = written;
  if (!USABLE_WIRE_ID.test(id) || seen.has(id)) {
    id = `call_${createHash('sha256').update(callId).digest('hex').slice(0, 24)}`;
  }
  seen.add(id);
  return id;
}
