import type { Run } from '../agent/run.ts';
import type { RunResult } from '../agent/run-result.ts';
import { systemClock } from '../clock.ts';
import type { Runtime } from '../runtime.ts';
import { ApprovalQueue } from './approval-queue.ts';
import type { Cli } from './cli.ts';
import { EXIT, type ExitCode, exitCodeOf } from './exit-code.ts';
import { glyphsFor } from './glyphs.ts';
import { type Interrupts, listenToSignals } from './interrupts.ts';
import { LiveView } from './live-view.ts';
import { jsonView, plainView, quietView } from './log-views.ts';
import type { RunPlace } from './next-commands.ts';
import type { RunView } from './run-view.ts';

/** How a run is to be shown. */
export interface ShowOptions {
  readonly json?: boolean;
  readonly plain?: boolean;
  readonly quiet?: boolean;
  readonly content?: boolean;
}

/** What {@link watchRun} needs. */
export interface WatchParts {
  readonly cli: Cli;
  readonly runtime: Runtime;
  readonly run: Run<unknown>;
  readonly show: ShowOptions;
  readonly place: RunPlace;
}

/** Shows a run to its end, with signals and approvals. Resolves with the exit code. */
export async function watchRun(parts: WatchParts): Promise<ExitCode> {
  const { cli, run } = parts;
  const startedAt = systemClock.monotonicMs();
  let view: RunView | undefined;
  const signals = listenToSignals({
    drain: () => run.stopAfterStep(),
    cancel: (reason) => run.cancel(reason),
    quit: () => process.exit(EXIT.cancelled),
    notice: (text) => view?.notice(text),
  });
  // Attached before the run can say anything.
  const text = run.text();
  const shown = viewOf(parts, signals);
  view = shown;
  cli.onPrinted((line) => shown.printed(line));
  cli.out.broken.addEventListener('abort', () => run.cancel('nobody reads the output'), { once: true });
  try {
    await shown.start();
    const [result] = await Promise.all([run.result, showEvents(parts, shown), showText(text, shown)]);
    cli.flushPrinted();
    const durationMs = systemClock.monotonicMs() - startedAt;
    await shown.end(result, { durationMs, isOpen: await isLeftOpen(parts, result) });
    return exitCodeOf(result);
  } finally {
    signals.dispose();
  }
}

function viewOf(parts: WatchParts, signals: Interrupts): RunView {
  const { cli, runtime, show, place } = parts;
  const { out, err } = cli;
  const log = { out, err, place, withContent: show.content === true };
  if (show.json === true) return jsonView(log);
  if (show.quiet === true) return quietView(log);
  if (show.plain === true || !out.isTerminal) return plainView(log);
  return new LiveView({
    out,
    stdin: cli.stdin,
    clock: systemClock,
    glyphs: glyphsFor(cli.env),
    place,
    queue: new ApprovalQueue((sessionId) => runtime.approvals.pending({ sessionId })),
    decide: (id, decision) => runtime.approvals.decide(id, decision),
    interrupt: () => signals.interrupt(),
  });
}

/** Asked of the ledger: a failure may have left the turn open or closed it. */
async function isLeftOpen({ runtime, run }: WatchParts, result: RunResult<unknown>): Promise<boolean> {
  if (result.status !== 'failed') return false;
  // The process that has the session goes on with the turn.
  if (result.error.kind === 'session-owned-elsewhere') return false;
  const reports = await runtime.recover(run.sessionId).catch(() => []);
  return reports.length > 0;
}

async function showEvents({ run, cli }: WatchParts, view: RunView): Promise<void> {
  try {
    for await (const event of run.events({ tree: true, content: view.wantsContent })) await view.event(event);
  } catch (error) {
    // The run itself goes on and says how it ended.
    await cli.err.say(`events cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function showText(text: AsyncIterable<string>, view: RunView): Promise<void> {
  for await (const delta of text) view.text(delta);
}
