import type { RunResult } from '../agent/run-result.ts';
import type { PendingApproval } from '../tools/approvals.ts';
import { count, formatCount, formatMs, formatUsd } from './amounts.ts';
import { type Line, type Span, shownLines, span, textLine } from './line.ts';

/** Where a run is found again, in the words of the commands that go on with it. */
export interface RunPlace {
  readonly sessionId: string;
  /** FILE as it was given. */
  readonly file: string;
  /** ` --ledger PLACE` where a command that follows needs it, else empty. */
  readonly ledgerOption: string;
  /** ` --pool NAME` where workers have the run, else empty. */
  readonly poolOption: string;
}

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
      return [span('failed', 'bad'), span(`: ${result.error.kind}: ${result.error.message}`)];
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
  const { file, ledgerOption, poolOption, sessionId } = place;
  const resume = `swarmwright resume ${file} ${sessionId}${ledgerOption}${poolOption}`;
  if (result.status === 'paused') {
    const calls = result.calls.map(
      ({ toolName }) => `  ${toolName}: it is unknown whether it had its effect`,
    );
    return [
      ...result.approvals.flatMap((request) => requestLines(request, ledgerOption)),
      ...calls.map((text) => textLine(text)),
      textLine(
        `${result.reason === 'requested' ? 'go on with' : 'then'}: ${resume}${result.calls.length > 0 ? ' --indeterminate retry|abandon' : ''}`,
      ),
    ];
  }
  return place.isOpen ? [textLine(`the turn is open; go on with: ${resume}`)] : [];
}

/** A request with the commands that decide it. */
export function requestLines(request: PendingApproval, ledgerOption: string): readonly Line[] {
  const { id, toolName, input, question, agentPath } = request;
  const what = request.kind === 'question' ? (question ?? '') : JSON.stringify(input);
  const option = request.kind === 'question' ? ' --answer TEXT' : '';
  return [
    [span(`  ${toolName}`, 'bold'), span(` ${what}`), span(`  ${agentPath.join('/')}`, 'dim')],
    textLine(`    swarmwright approve ${id}${option}${ledgerOption}`),
    textLine(`    swarmwright deny ${id}${ledgerOption}`),
  ];
}
