// Reviews the files of a folder: npm start -- [FOLDER] [--out FILE]. `npm start -- --help` tells the rest.
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRuntime, type Run, type RunResult, type Runtime, sqliteLedger } from 'swarmwright';
import { type Bus, openBus } from './nats/bus.ts';
import { askPerson } from './repo-review/ask-person.ts';
import { readCommandLine, type Wishes } from './repo-review/command-line.ts';
import { openEndpoint } from './repo-review/endpoint.ts';
import { openFolder } from './repo-review/folder.ts';
import { printable } from './repo-review/printable.ts';
import { printProgress } from './repo-review/progress.ts';
import { createReview } from './repo-review/review-swarm.ts';

const EXIT = { completed: 0, failed: 1, usage: 2, paused: 3, cancelled: 130 } as const;

/** What the run may cost at most, whoever the model is. */
const BUDGET = { steps: 150, toolCalls: 400, wallMs: 15 * 60_000 };

/** Runs the review to its end, or to where only a person can help. */
async function review(
  runtime: Runtime,
  wishes: Wishes,
  { bus, signal }: { readonly bus: Bus; readonly signal: AbortSignal },
): Promise<RunResult> {
  await using endpoint = await openEndpoint(process.env);
  console.log(endpoint.description);
  const folder = await openFolder(wishes.folder);
  const swarm = createReview({
    model: endpoint.model,
    writes: wishes.out === undefined ? 'never' : wishes.mustAsk ? 'after-approval' : 'at-once',
  });
  const settings = {
    context: { folder, ...(wishes.out === undefined ? {} : { out: wishes.out }) },
    // The run ends as paused when nothing is left but to wait for a person; the session stays.
    onApproval: 'pause',
    budget: BUDGET,
    signal,
  } as const;
  let run: Run =
    wishes.resume === undefined
      ? runtime.run(swarm, `Review the folder ${JSON.stringify(folder.name)}.`, settings)
      : runtime.resume(swarm, wishes.resume, settings);
  console.log(`Folder: ${printable(wishes.folder)}\nLedger: ${wishes.ledger}, session ${run.sessionId}`);
  console.log(`${bus.description}\n`);
  for (;;) {
    await printProgress(run);
    const result = await run.result;
    if (result.status !== 'paused') return tell(result, run.sessionId, wishes);
    if (!(await askPerson(runtime, result.approvals, signal))) return tell(result, run.sessionId, wishes);
    run = runtime.resume(swarm, run.sessionId, settings);
  }
}

/** Prints what came of it, and how to look at it. */
function tell(result: RunResult, sessionId: string, wishes: Wishes): RunResult {
  if (result.status === 'completed') console.log(`\n${printable(result.text)}\n`);
  if (result.status === 'failed')
    console.error(`\nFailed: ${result.error.kind}: ${printable(result.error.message)}`);
  if (result.status === 'cancelled') console.error(`\nCancelled: ${printable(result.reason)}`);
  if (result.status === 'paused') {
    console.log('\nPaused. Decide in any terminal, then go on:');
    for (const { id } of result.approvals) console.log(`  ${cli('approve', id, wishes)}`);
    console.log(`  ${again(sessionId, wishes)}`);
  }
  const { inputTokens = 0, outputTokens = 0 } = result.usage.reported;
  console.log(
    `${result.steps} steps, ${result.toolCalls} tool calls, ${inputTokens} + ${outputTokens} tokens.`,
  );
  console.log(`Look at it: ${cli('sessions show', sessionId, wishes)}`);
  return result;
}

/** A command of this project's command line that finds the session. */
function cli(command: string, id: string, { ledger }: Wishes): string {
  const where = ledger === resolve('swarmwright.db') ? '' : ` --ledger ${quote(ledger)}`;
  return `npm run -s swarmwright -- ${command} ${id}${where}`;
}

/** The command that goes on with the session. */
function again(sessionId: string, { folder, out, mustAsk, ledger }: Wishes): string {
  const options = [
    ...(out === undefined ? [] : ['--out', out]),
    ...(mustAsk ? [] : ['--yes']),
    ...(ledger === resolve('swarmwright.db') ? [] : ['--ledger', ledger]),
  ];
  return `npm start -- ${[folder, ...options, '--resume', sessionId].map(quote).join(' ')}`;
}

function quote(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

async function main(): Promise<keyof typeof EXIT> {
  const read = readCommandLine(process.argv.slice(2), fileURLToPath(new URL('..', import.meta.url)));
  if (read.type === 'help') console.log(read.text);
  if (read.type === 'refused') console.error(read.message);
  if (read.type !== 'go') return read.type === 'help' ? 'completed' : 'usage';
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  // Awaited here, so that a file that is no ledger ends it before anything begins.
  const ledger = await sqliteLedger({ path: read.wishes.ledger });
  await using bus = await openBus(process.env);
  await using runtime = createRuntime({ ledger, sinks: bus.sinks });
  return (await review(runtime, read.wishes, { bus, signal: interrupted.signal })).status;
}

try {
  process.exitCode = EXIT[await main()];
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = EXIT.failed;
}
