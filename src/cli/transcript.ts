import type { LedgerRecord, RecordOf } from '../ledger/records.ts';
import {
  type CallFacts,
  callStatus,
  effectiveArgs,
  foldSession,
  resultOf,
  type SessionFacts,
  type TurnFacts,
} from '../ledger/turn-facts.ts';
import { count, formatCount, formatMs } from './amounts.ts';
import { cutLine, MAX_DATA_CHARS, MAX_PROSE_CHARS } from './cut-line.ts';
import { attemptWords, failureWords } from './failure-words.ts';
import { type Line, type Style, shownLines, span, textLine } from './line.ts';
import { outputText, partsText } from './output-text.ts';

/** Lines of one text that are shown; the rest is counted, as that of a long line is. */
const MAX_TEXT_LINES = 40;

/** What was said and done in a session, as a person reads it: made from its facts alone. */
export function transcriptLines(records: readonly LedgerRecord[]): readonly Line[] {
  const facts = foldSession(records);
  return [...headLines(records, facts), ...facts.turns.flatMap((turn) => turnLines(turn, records))];
}

function headLines(records: readonly LedgerRecord[], facts: SessionFacts): readonly Line[] {
  const [first] = records;
  if (first === undefined) return [];
  const opened = new Date(first.at).toISOString();
  return [
    [span(first.session, 'bold'), span(`  ${first.agent}`), span(`  ${opened}`, 'dim')],
    textLine(`  ${count(facts.turns.length, 'turn')}, ${count(records.length, 'record')}`, 'dim'),
    ...(first.parent === undefined ? [] : [textLine(`  child of ${first.parent}`, 'dim')]),
    ...originLines(facts),
  ];
}

function originLines({ opened }: SessionFacts): readonly Line[] {
  const origin = opened?.data.origin;
  return origin === undefined ? [] : [textLine(`  forked from ${origin.session} at ${origin.seq}`, 'dim')];
}

function turnLines(turn: TurnFacts, records: readonly LedgerRecord[]): readonly Line[] {
  const own = records.filter((record) => record.turn === turn.turnId);
  return [textLine(''), turnHead(turn), ...own.flatMap((record) => recordLines(record, turn))];
}

function turnHead({ opened, closed, paused }: TurnFacts): Line {
  const name = span(`turn ${opened.data.ordinal}`, 'bold');
  if (closed === undefined) return [name, span(paused ? '  paused' : '  open', 'warn')];
  const { status, stopReason, steps, toolCalls, usage, error, reason } = closed.data;
  const tokens =
    usage?.inputTokens === undefined
      ? ''
      : `  ${formatCount(usage.inputTokens)} in, ${formatCount(usage.outputTokens ?? 0)} out`;
  const why = error === undefined ? reason : failureWords(error);
  return [
    name,
    span(`  ${status}`, status === 'completed' ? 'good' : 'warn'),
    ...(why === undefined ? [] : [span(`: ${why}`)]),
    ...(stopReason === 'end-turn' || status === 'failed' ? [] : [span(`  ${stopReason}`, 'warn')]),
    span(`  ${count(steps, 'step')}  ${count(toolCalls, 'call')}${tokens}`, 'dim'),
    span(`  ${formatMs(closed.at - opened.at)}`, 'dim'),
  ];
}

function recordLines(record: LedgerRecord, turn: TurnFacts): readonly Line[] {
  switch (record.type) {
    case 'turn.opened':
      return said('user', partsText(record.data.input), 'accent');
    case 'assistant.message':
      return messageLines(record);
    case 'steering.accepted':
      return said('steering', record.data.text, 'accent');
    case 'message.received':
      return said(record.data.from, partsText(record.data.parts), 'accent');
    case 'attempt.failed':
      return [textLine(`  ${attemptWords(record.data.attempt, record.data.failure)}`, 'warn')];
    case 'step.closed': {
      const { failure, status } = record.data;
      return failure === undefined ? [] : [textLine(`  step ${status}: ${failureWords(failure)}`, 'bad')];
    }
    case 'tool.called': {
      // A call is told once, where the model made it, with what became of it.
      const call = turn.calls.get(record.call ?? '');
      return call === undefined ? [] : callLines(call);
    }
    default:
      return [];
  }
}

function messageLines({ agent, data }: RecordOf<'assistant.message'>): readonly Line[] {
  const text = data.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return text === '' ? [] : said(data.partial === true ? `${agent} (cut off)` : agent, text, 'bold');
}

function callLines(call: CallFacts): readonly Line[] {
  const { called, decided } = call;
  const status = wordOf(call);
  const style: Style = status === 'success' ? 'good' : 'warn';
  const took = call.settled === undefined ? '' : ` in ${formatMs(call.settled.data.durationMs)}`;
  const output = resultOf(call);
  const result = output === undefined ? '' : outputText(output);
  return [
    [span(`  ${called.data.toolName}`, 'accent'), ...cutSpans(` ${JSON.stringify(effectiveArgs(call))}`)],
    ...(decided === undefined ? [] : [textLine(`    ${decisionOf(decided)}`, 'dim')]),
    [span(`    ${status}`, style), span(took, 'dim')],
    ...(result === '' ? [] : quoted(result, MAX_DATA_CHARS)),
  ];
}

function wordOf(call: CallFacts): string {
  if (call.settled !== undefined) return call.settled.data.status;
  if (call.indeterminate !== undefined) return 'indeterminate';
  return callStatus(call) === 'parked' ? 'waits for approval' : callStatus(call);
}

function decisionOf({ data }: RecordOf<'permission.decided'>): string {
  const who = data.actor === undefined ? '' : ` by ${data.actor}`;
  const scope = data.scope === 'call' ? '' : ` for this ${data.scope}`;
  const edited = data.editedInput === undefined ? '' : ', edited';
  const why = data.reason === undefined ? '' : `: ${data.reason}`;
  return `${data.decision === 'approve' ? 'approved' : 'denied'}${who}${scope}${edited}${why}`;
}

function said(who: string, text: string, style: Style): readonly Line[] {
  return [[span(`  ${who}:`, style)], ...quoted(text, MAX_PROSE_CHARS)];
}

function quoted(text: string, maxChars: number): readonly Line[] {
  const indent = '    ';
  const lines = shownLines(text);
  const shown = lines
    .slice(0, MAX_TEXT_LINES)
    .map((line): Line => [span(indent), ...cutSpans(line, maxChars)]);
  const left = lines.length - shown.length;
  return left === 0
    ? shown
    : [...shown, textLine(`${indent}… ${count(left, 'more line')}; --json has all`, 'dim')];
}

function cutSpans(line: string, maxChars: number = MAX_DATA_CHARS): Line {
  const { text, more } = cutLine(line, maxChars);
  return more === '' ? [span(text)] : [span(text), span(`  ${more}; --json has all`, 'dim')];
}
