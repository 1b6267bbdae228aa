import type { Run, RunEvent } from 'swarmwright';
import { oneLine } from './printable.ts';

/** Prints what a run does and everything below it, to its end. */
export async function printProgress(run: Run): Promise<void> {
  const names = new Map<string, string>();
  // Arguments and results leave the ledger only where somebody asks for them; secrets in them are masked.
  for await (const event of run.events({ tree: true, content: ['tool', 'attempt', 'turn'] })) {
    const line = lineOf(event);
    if (line !== undefined) console.log(`${whoOf(event, names)}${line}`);
  }
}

/** The session of the lead speaks for itself; the others are numbered as they come. */
function whoOf({ session, parent, agentPath }: RunEvent, names: Map<string, string>): string {
  if (parent === undefined) return '';
  const name = names.get(session) ?? `${oneLine(agentPath.at(-1) ?? '')} ${names.size + 1}`;
  names.set(session, name);
  return `    ${name}: `;
}

function lineOf(event: RunEvent): string | undefined {
  const indent = event.parent === undefined ? '  ' : '';
  const line = wordsOf(event);
  return line === undefined ? undefined : `${indent}${line}`;
}

function wordsOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'attempt.failed':
      return `attempt ${event.data.attempt} failed: ${oneLine(event.data.message ?? event.data.failure.kind)}`;
    case 'tool.called':
      return `${oneLine(event.data.toolName)} ${oneLine(JSON.stringify(event.data.args ?? {}))}`;
    case 'tool.refused':
      return `${oneLine(event.data.toolName)} refused: ${oneLine(event.data.text ?? event.data.code)}`;
    case 'tool.progressed':
      return oneLine(event.data.text ?? '');
    case 'tool.settled': {
      const { toolName, status, durationMs } = event.data;
      return `${oneLine(toolName)}: ${status} after ${Math.round(durationMs)} ms`;
    }
    case 'approval.requested':
      return `${oneLine(event.data.toolName)} waits for you (${event.data.request})`;
    case 'approval.decided':
      return event.data.decision === 'approve' ? 'approved' : 'denied';
    case 'turn.opened':
      return event.data.wake === undefined ? undefined : 'is woken: there is news of the reviews';
    case 'turn.resumed':
      return event.parent === undefined ? 'the turn goes on' : undefined;
    case 'turn.closed':
      return event.parent === undefined ? undefined : event.data.status;
    default:
      return undefined;
  }
}
