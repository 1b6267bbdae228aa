import type { RunEvent } from '../events/event-schemas.ts';
import { count, formatCount, formatMs } from './amounts.ts';
import { attemptWords, failureWords } from './failure-words.ts';
import { type Line, type Style, span } from './line.ts';
import { approveCommand } from './next-commands.ts';
import { outputText } from './output-text.ts';
import { pauseWords } from './pause-words.ts';

/** What a log of a run says besides its events. */
export interface EventLineOptions {
  /** ` --ledger PLACE` where the commands that decide need it, else empty. */
  readonly ledgerOption: string;
}

/** An event as one line of a log, or undefined for those that a log of people does not need. */
export function eventLine(event: RunEvent, options: EventLineOptions): Line | undefined {
  const told = tellTurn(event) ?? tellStep(event) ?? tellCall(event, options);
  if (told === undefined) return undefined;
  return [span(`${whoIn(event)}: `, 'bold'), span(told.text, told.style)];
}

/** Whose event it is, as a log names it: a swarm by its supervisor. */
export function whoIn({ agentPath, agent }: RunEvent): string {
  return agentPath.join('/') || agent;
}

interface Told {
  readonly text: string;
  readonly style: Style;
}

function tell(text: string, style: Style = 'plain'): Told {
  return { text, style };
}

/** `: text` where an event carries a text. */
function quote(text: string | undefined): string {
  return text === undefined || text === '' ? '' : `: ${text}`;
}

function tellTurn(event: RunEvent): Told | undefined {
  switch (event.type) {
    case 'turn.opened':
      return tell(`turn ${event.data.ordinal} began in session ${event.session}`);
    case 'turn.resumed':
      return tell(`turn went on in session ${event.session}`);
    case 'turn.paused':
      return tell(`turn paused, ${pauseWords(event.data.reason)}`, 'warn');
    case 'turn.closed': {
      const { status, error, message, reason } = event.data;
      const why = quote(error === undefined ? reason : failureWords({ ...error, message }));
      return tell(`turn ${status}${why}`, status === 'completed' ? 'good' : 'warn');
    }
    case 'steering.accepted':
      return tell(`steering accepted${quote(event.data.text)}`);
    case 'steering.undelivered':
      return tell(`steering came too late: ${event.data.reason}`, 'warn');
    case 'budget.exceeded':
      return tell(
        `budget ${event.data.budget} is used up: ${event.data.used} of ${event.data.limit}`,
        'warn',
      );
    case 'child.started':
      return tell(`started ${event.data.agent}`);
    case 'child.finished':
      return tell(`${event.data.agent} ${event.data.status}`);
    case 'child.lost':
      return tell(`lost ${event.data.agent}: ${event.data.reason}`, 'bad');
    case 'handoff.taken':
      return tell(`handed off to ${event.data.to}`);
    default:
      return undefined;
  }
}

function tellStep(event: RunEvent): Told | undefined {
  switch (event.type) {
    case 'step.started':
      return tell(`step ${event.data.index}`, 'dim');
    case 'attempt.failed':
      return tell(
        attemptWords(event.data.attempt, { ...event.data.failure, message: event.data.message }),
        'warn',
      );
    case 'attempt.retry-scheduled':
      return tell(`next attempt in ${formatMs(event.data.delayMs)}`, 'dim');
    case 'step.completed': {
      const { usage, calls } = event.data;
      const tokens =
        usage?.inputTokens === undefined
          ? ''
          : `, ${formatCount(usage.inputTokens)} in, ${formatCount(usage.outputTokens ?? 0)} out`;
      return tell(`step completed with ${count(calls, 'call')}${tokens}`, 'dim');
    }
    case 'step.failed': {
      const { status, failure, message } = event.data;
      const why = failure === undefined ? message : failureWords({ ...failure, message });
      return tell(`step ${status}${quote(why)}`, 'bad');
    }
    default:
      return undefined;
  }
}

function tellCall(event: RunEvent, { ledgerOption }: EventLineOptions): Told | undefined {
  switch (event.type) {
    case 'tool.called': {
      const { toolName, args } = event.data;
      return tell(`${toolName} called${args === undefined ? '' : ` with ${JSON.stringify(args)}`}`);
    }
    case 'tool.refused':
      return tell(`${event.data.toolName} refused: ${event.data.text ?? event.data.code}`, 'bad');
    case 'tool.progressed':
      return event.data.text === undefined ? undefined : tell(`progress: ${event.data.text}`, 'dim');
    case 'tool.settled': {
      const { toolName, status, durationMs, output } = event.data;
      const said = output === undefined ? '' : quote(outputText(output));
      const style = status === 'success' ? 'good' : 'bad';
      return tell(`${toolName} ${status} in ${formatMs(durationMs)}${said}`, style);
    }
    case 'tool.indeterminate':
      return tell(`${event.data.toolName}: it is unknown whether it had its effect`, 'warn');
    case 'approval.requested': {
      const { request, toolName, kind, question } = event.data;
      const what = kind === 'question' ? `asks${quote(question)}` : 'waits for approval';
      return tell(`${toolName} ${what}; ${approveCommand({ id: request, kind }, ledgerOption)}`, 'warn');
    }
    case 'approval.decided': {
      const { decision, by, reason } = event.data;
      const how = by === undefined ? '' : ', as decided before';
      return tell(`${decision === 'approve' ? 'approved' : 'denied'}${how}${quote(reason)}`);
    }
    case 'approval.expired':
      return tell(
        event.data.cause === 'deadline' ? 'approval expired' : 'approval is no longer needed',
        'warn',
      );
    default:
      return undefined;
  }
}
