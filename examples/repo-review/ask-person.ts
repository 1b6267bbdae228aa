import { createInterface } from 'node:readline/promises';
import { isSwarmError, type PendingApproval, type Runtime } from 'swarmwright';
import { printable } from './printable.ts';

/**
 * Asks the person at the terminal about each request. False where nobody is there or wants to decide: the requests
 * then stay open.
 */
export async function askPerson(
  runtime: Runtime,
  requests: readonly PendingApproval[],
  signal: AbortSignal,
): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  for (const request of requests) {
    const answer = await ask(request, signal);
    if (answer === undefined) return false;
    try {
      await runtime.approvals.decide(request.id, { ...answer, actor: 'terminal' });
    } catch (error) {
      // Somebody else was faster, in another terminal; theirs holds.
      if (!isSwarmError(error, 'approval-conflict') && !isSwarmError(error, 'approval-settled')) throw error;
      console.log('It was decided elsewhere.');
    }
  }
  return true;
}

async function ask({ toolName, input }: PendingApproval, signal: AbortSignal) {
  console.log(`\n${toolName} wants to run with:`);
  for (const [name, value] of Object.entries(input)) console.log(`  ${printable(name)}: ${shown(value)}`);
  const left = new AbortController();
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // Ctrl-C and Ctrl-D leave the request open.
  terminal.once('SIGINT', () => left.abort());
  terminal.once('close', () => left.abort());
  try {
    const options = { signal: AbortSignal.any([signal, left.signal]) };
    const word = (await terminal.question('Run it? [y]es, [n]o, or leave it open: ', options)).trim();
    if (/^y(es)?$/i.test(word)) return { decision: 'approve' } as const;
    if (!/^no?$/i.test(word)) return undefined;
    const reason = (await terminal.question('Why not? The model reads it: ', options)).trim();
    return { decision: 'deny', ...(reason === '' ? {} : { reason }) } as const;
  } catch {
    // Only an abort ends a question without an answer.
    return undefined;
  } finally {
    terminal.close();
  }
}

/** Text as it reads, from its second line on below the first; everything else as JSON. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return printable(text).replaceAll('\n', '\n    ');
}
