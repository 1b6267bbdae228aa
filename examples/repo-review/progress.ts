import type { Run, RunEvent } from 'swarmwright';
import { oneLine } from './printable.ts';

/** Prints what a run does, to its end. */
export async function printProgress(run: Run): Promise<void> {
  // Arguments and results leave the ledger only where somebody asks for them; secrets in them are masked.
  for await (const event of run.events({ content: ['tool', 'attempt', 'turn'] })) {
    const line = lineOf(event);
    if (line !== undefined) console.log(line);
  }
}

function lineOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'step.started':
      return `step ${event.data.index}`;
    case 'attempt.failed':
      return `  attempt ${event.data.attempt} failed: ${oneLine(event.data.message ?? event.data.failure.kind)}`;
    case 'tool.called':
      return `  ${oneLine(event.data.toolName)} ${oneLine(JSON.stringify(event.data.args ?? {}))}`;
    case 'tool.refused':
      return `  ${oneLine(event.data.toolName)} refused: ${oneLine(event.data.text ?? event.data.code)}`;
    case 'tool.progressed':
      return `  ${oneLine(event.data.text ?? '')}`;
    case 'tool.settled': {
      const { toolName, status, durationMs } = event.data;
      return `  ${oneLine(toolName)}: ${status} after ${Math.round(durationMs)} ms`;
    }
    case 'approval.requested':
      return `  ${oneLine(event.data.toolName)} waits for you (${event.data.request})`;
    case 'approval.decided':
      return `  ${event.data.decision === 'approve' ? 'approved' : 'denied'}`;
    case 'turn.resumed':
      return 'the turn goes on';
    default:
      return undefined;
  }
}
