import type { RunResult } from '../agent/run-result.ts';
import type { PendingApproval } from '../tools/approvals.ts';
import { count, formatCount, formatMs, formatUsd } from './amounts.ts';
import { cutLine, MAX_DATA_CHARS, MAX_PROSE_CHARS } from './cut-line.ts';
import { failureWords } from './failure-words.ts';
import { type Line, type Span, shownLines, span, textLine } from './line.ts';
import {
  approveCommand,
  denyCommand,
  type RunPlace,
  resumeCommand,
  resumeCommands,
} from './next-commands.ts';

/** What a result is told with besides itself. */
export interface ResultPlace extends RunPlace {
  readonly durationMs: number;
  /** Whether the turn stands open in the ledger and can be resumed. */
  readonly isOpen: boolean;
}

/** The text of a result: the answer, or what there was of it when the run ended. */
export function answerLines(result: RunResult<unknown>): readonly Line[] {
  if (result.status === 'paused' || result.text === '') return [];
  return shownLines(result.text).map((text) => [{ text, style: 'plain' }]);
}

/** How a run ended, what it took, and how to go on. */
export function endingLines(result: RunResult<unknown>, place: ResultPlace): readonly Line[] {
  return [[...wordsOf(result), ...factsOf(result, place)], ...nextLines(result, place)];
}

function wordsOf(result: RunResult<unknown>): readonly Span[] {
  switch (result.status) {
    case 'completed': {
      const isPlain = result.stopReason === 'end-turn';
      return [span('completed', 'good'), ...(isPlain ? [] : [span(`: ${result.stopReason}`, 'warn')])];
    }
    case 'paused':
      return [span('paused', 'warn'), span(`: ${result.reason}`)];
    case 'cancelled':
      return [span('cancelled', 'warn'), span(`: ${result.reason}`)];
    case 'failed':
      return [span('failed', 'bad'), span(`: ${failureWords(result.error, MAX_PROSE_CHARS)}`)];
  }
}

function factsOf({ steps, toolCalls, usage }: RunResult<unknown>, place: ResultPlace): readonly Span[] {
  const { inputTokens, outputTokens, costUsd } = usage.reported;
  const tokens =
    inputTokens === undefined && outputTokens === undefined
      ? []
      : [`${formatCount(inputTokens ?? 0)} in, ${formatCount(outputTokens ?? 0)} out`];
  const facts = [
    count(steps, 'step'),
    count(toolCalls, 'call'),
    ...tokens,
    ...(costUsd === undefined || costUsd === 0 ? [] : [formatUsd(costUsd)]),
    formatMs(place.durationMs),
    `session ${place.sessionId}`,
  ];
  return facts.map((fact) => span(`  ${fact}`, 'dim'));
}

function nextLines(result: RunResult<unknown>, place: ResultPlace): readonly Line[] {
  if (result.status === 'paused') {
    const calls = result.calls.map(
      ({ toolName }) => `  ${toolName}: it is unknown whether it had its effect`,
    );
    return [
      ...result.approvals.flatMap((request) => requestLines(request, place.ledgerOption)),
      ...calls.map((text) => textLine(text)),
      ...resumeCommands(place, result.calls.length > 0).map((command, index) =>
        textLine(`${index > 0 ? 'or' : result.reason === 'requested' ? 'go on with' : 'then'}: ${command}`),
      ),
    ];
  }
  return place.isOpen ? [textLine(`the turn is open; go on with: ${resumeCommand(place)}`)] : [];
}

/** A request with the commands that decide it. */
export function requestLines(request: PendingApproval, ledgerOption: string): readonly Line[] {
  const { toolName, input, question, agentPath } = request;
  const what =
    request.kind === 'question'
      ? cutLine(question ?? '', MAX_PROSE_CHARS)
      : cutLine(JSON.stringify(input), MAX_DATA_CHARS);
  const more = what.more === '' ? [] : [span(`  ${what.more}; approvals ls --json has all`, 'warn')];
  return [
    [span(`  ${toolName}`, 'bold'), span(` ${what.text}`), ...more, span(`  ${agentPath.join('/')}`, 'dim')],
    textLine(`    ${approveCommand(request, ledgerOption)}`),
    textLine(`    ${denyCommand(request, ledgerOption)}`),
  ];
}
