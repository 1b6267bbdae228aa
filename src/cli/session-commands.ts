import type { Command } from 'commander';
import { SwarmError } from '../errors.ts';
import type { SessionSummary } from '../ledger/ledger.ts';
import type { Cli } from './cli.ts';
import { jsonText } from './json-text.ts';
import { addLedgerOptions, type LedgerOptions, withRuntime } from './ledger-option.ts';
import { shownPlace } from './ledger-place.ts';
import { fitLine, type Line, span, textLine } from './line.ts';
import { transcriptLines } from './transcript.ts';

interface ListOptions extends LedgerOptions {
  readonly json?: boolean;
}

const LIST_EXAMPLES = `
Examples:
  $ swarmwright sessions ls
  $ swarmwright sessions ls --json | jq -r .sessionId
  $ swarmwright sessions ls --ledger nats://worker:worker@127.0.0.1:4222`;

const SHOW_EXAMPLES = `
Examples:
  $ swarmwright sessions show s-43myth8nbj
  $ swarmwright sessions show s-43myth8nbj --json > session.jsonl

With --json every fact of the ledger is one line, with all that was said. Without, what was said and done is
told; texts of many lines and long lines are cut.`;

/** Adds `sessions ls` and `sessions show ID`. */
export function addSessionCommands(program: Command, cli: Cli): void {
  const sessions = program
    .command('sessions')
    .summary('list what the ledger holds, or show a session')
    .description('What the ledger holds.');
  addLedgerOptions(
    sessions
      .command('ls')
      .description('Lists sessions, oldest first.')
      .option('--json', 'one JSON object a line'),
  )
    .addHelpText('after', LIST_EXAMPLES)
    .action((options: ListOptions) => listSessions(cli, options));
  addLedgerOptions(
    sessions
      .command('show')
      .description('Tells what was said and done in a session.')
      .argument('<session>', 'session')
      .option('--json', 'every fact as one JSON object a line'),
  )
    .addHelpText('after', SHOW_EXAMPLES)
    .action((session: string, options: ListOptions) => showSession(cli, session, options));
}

async function listSessions(cli: Cli, options: ListOptions): Promise<void> {
  const sessions = await withRuntime(options, ({ runtime }) => runtime.sessions.list());
  if (options.json === true) {
    for (const session of sessions) await cli.out.write(`${jsonText(session)}\n`);
    return;
  }
  const lines = sessions.length === 0 ? [textLine('no session')] : sessionTable(sessions);
  const { columns } = cli.out.size();
  await cli.out.lines(cli.out.isTerminal ? lines.map((line) => fitLine(line, columns)) : lines);
}

/** Sessions as a table: id, agent, state, last change. A child stands below its parent. */
function sessionTable(sessions: readonly SessionSummary[]): readonly Line[] {
  const rows = underParents(sessions).map(({ session, depth }) => ({
    id: `${'  '.repeat(depth)}${session.sessionId}`,
    agent: session.agent,
    state: stateOf(session),
    updated: new Date(session.updatedAt).toISOString().replace('T', ' ').slice(0, 19),
  }));
  const widest = (column: 'id' | 'agent' | 'state') => Math.max(...rows.map((row) => row[column].length));
  const widths = { id: widest('id'), agent: widest('agent'), state: widest('state') };
  return rows.map((row) => [
    span(row.id.padEnd(widths.id + 2), 'bold'),
    span(row.agent.padEnd(widths.agent + 2)),
    span(row.state.padEnd(widths.state + 2), row.state === 'at work' ? 'good' : 'dim'),
    span(row.updated, 'dim'),
  ]);
}

function stateOf({ openTurn, owned }: SessionSummary): string {
  if (openTurn === undefined) return 'idle';
  return owned ? 'at work' : 'open';
}

function underParents(
  sessions: readonly SessionSummary[],
): readonly { readonly session: SessionSummary; readonly depth: number }[] {
  const known = new Set(sessions.map(({ sessionId }) => sessionId));
  const below = (parent: string | undefined, depth: number): ReturnType<typeof underParents> =>
    sessions
      // One whose parent is not in the ledger stands at the top.
      .filter(({ parentId }) =>
        parent === undefined ? parentId === undefined || !known.has(parentId) : parentId === parent,
      )
      .flatMap((session) => [{ session, depth }, ...below(session.sessionId, depth + 1)]);
  return below(undefined, 0);
}

async function showSession(cli: Cli, session: string, options: ListOptions): Promise<void> {
  const records = await withRuntime(options, ({ runtime }) => runtime.sessions.read(session));
  if (records.length === 0) {
    throw new SwarmError(
      'unknown-session',
      `no session ${session} is in the ledger ${shownPlace(options.ledger)}`,
    );
  }
  if (options.json !== true) {
    await cli.out.lines(transcriptLines(records));
    return;
  }
  for (const record of records) await cli.out.write(`${jsonText(record)}\n`);
}
