import { type Command, InvalidArgumentError, Option } from 'commander';
import { isSwarmError } from '../errors.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { ApprovalDecision } from '../tools/approval-decisions.ts';
import type { PendingApproval } from '../tools/approvals.ts';
import type { Cli } from './cli.ts';
import { cutLine } from './cut-line.ts';
import { readJsonObject } from './json-object.ts';
import { jsonText } from './json-text.ts';
import { addLedgerOptions, type LedgerOptions, ledgerHint, withRuntime } from './ledger-option.ts';
import { textLine } from './line.ts';
import { loadModule, type Runnable } from './load-target.ts';
import { requestLines } from './result-lines.ts';
import { tellRefusal } from './run-command.ts';

interface ApproveOptions extends LedgerOptions {
  readonly scope?: 'call' | 'turn' | 'session';
  readonly edit?: JsonObject;
  readonly answer?: string;
  readonly file?: string;
}

interface DenyOptions extends LedgerOptions {
  readonly reason?: string;
}

const APPROVE_EXAMPLES = `
Examples:
  $ swarmwright approve s-43myth8nbj.1.1.0.ask
  $ swarmwright approve s-43myth8nbj.1.1.0.ask --scope session
  $ swarmwright approve s-43myth8nbj.1.1.0.ask --edit '{"path": "docs/a.md"}'
  $ swarmwright approve s-43myth8nbj.1.1.0.ask --answer "the second one"

Works from any terminal on the same ledger; "swarmwright approvals ls" names what is open. Where the run waits, it
goes on at once, and where it is with the workers of a pool, one of them takes it up by itself; else it is paused, and
goes on after "swarmwright resume". An edit is checked against the schema of the tool: by the process that waits, or
where none does by the module that --file names. The same decision again changes nothing; another one is refused.`;

const DENY_EXAMPLES = `
Examples:
  $ swarmwright deny s-43myth8nbj.1.1.0.ask
  $ swarmwright deny s-43myth8nbj.1.1.0.ask --reason "not on a Friday"

The model is given the reason, and goes on without the call.`;

const LIST_EXAMPLES = `
Examples:
  $ swarmwright approvals ls
  $ swarmwright approvals ls --session s-43myth8nbj --json

Long arguments are cut; --json has all of them.`;

/** Adds `approve ID`, `deny ID` and `approvals ls`. */
export function addApprovalCommands(program: Command, cli: Cli): void {
  addLedgerOptions(
    program
      .command('approve')
      .summary('let a call run that waits for a person')
      .description('Lets a call run that waits for a person, or answers a question.')
      .argument('<id>', 'request, as "approvals ls" names it')
      .addOption(
        new Option('--scope <scope>', 'how long it holds for calls of the same kind').choices([
          'call',
          'turn',
          'session',
        ]),
      )
      .option('--edit <json>', 'run with this input instead', readEdit)
      .option('--answer <text>', 'answer to a question')
      .option('--file <file>', 'module with the agent, to check an edit where no process waits'),
  )
    .addHelpText('after', APPROVE_EXAMPLES)
    .action((id: string, options: ApproveOptions) => approve(cli, id, options));
  addLedgerOptions(
    program
      .command('deny')
      .summary('refuse a call that waits for a person')
      .description('Refuses a call that waits for a person.')
      .argument('<id>', 'request, as "approvals ls" names it')
      .option('--reason <text>', 'why; the model is told'),
  )
    .addHelpText('after', DENY_EXAMPLES)
    .action((id: string, options: DenyOptions) => {
      const { reason } = options;
      return decide(cli, id, options, { decision: 'deny', ...(reason === undefined ? {} : { reason }) });
    });
  addLedgerOptions(
    program
      .command('approvals')
      .summary('list what waits for a person')
      .description('Requests that wait for a person.')
      .command('ls')
      .description(
        'Lists the open requests of all sessions, oldest first, with the commands that decide them.',
      )
      .option('--session <id>', 'only those of this session')
      .option('--json', 'one JSON object a line'),
  )
    .addHelpText('after', LIST_EXAMPLES)
    .action((options: LedgerOptions & { session?: string; json?: boolean }) => listRequests(cli, options));
}

function readEdit(text: string): JsonObject {
  const read = readJsonObject(text);
  if (read.type === 'object') return read.value;
  throw new InvalidArgumentError(read.complaint);
}

async function approve(cli: Cli, id: string, options: ApproveOptions): Promise<void> {
  const { scope, edit, answer, file } = options;
  let agents: Readonly<Record<string, Runnable>> | undefined;
  if (file !== undefined) {
    const loaded = await loadModule(file, { cwd: cli.cwd });
    if (loaded.type === 'refused') {
      cli.exitCode = await tellRefusal(cli, loaded);
      return;
    }
    agents = loaded.agents;
  }
  await decide(
    cli,
    id,
    { ...options, ...(agents === undefined ? {} : { agents }) },
    {
      decision: 'approve',
      ...(scope === undefined ? {} : { scope }),
      ...(edit === undefined ? {} : { editedInput: edit }),
      ...(answer === undefined ? {} : { answer }),
    },
  );
}

async function decide(
  cli: Cli,
  id: string,
  options: LedgerOptions & { readonly agents?: Readonly<Record<string, Runnable>> },
  decision: ApprovalDecision,
): Promise<void> {
  await withRuntime(options, async ({ runtime }) => {
    const request = (await runtime.approvals.pending()).find((pending) => pending.id === id);
    try {
      await runtime.approvals.decide(id, { ...decision, actor: 'command line' });
    } catch (error) {
      if (isSwarmError(error, 'approval-edit-invalid') && options.agents === undefined) await tellOfFile(cli);
      throw error;
    }
    const what = request === undefined ? id : decidedWords(request);
    await cli.out.say(`${decision.decision === 'approve' ? 'approved' : 'denied'}: ${what}`);
  });
}

function decidedWords({ toolName, input }: PendingApproval): string {
  const { text, more } = cutLine(JSON.stringify(input));
  return `${toolName} ${text}${more === '' ? '' : `  ${more}`}`;
}

/** Where no process waits, nobody here knows the schema of the tool. */
function tellOfFile(cli: Cli): Promise<void> {
  return cli.err.say(
    'where no process waits for the decision, name the module of the agent with --file FILE',
  );
}

async function listRequests(
  cli: Cli,
  options: LedgerOptions & { readonly session?: string; readonly json?: boolean },
): Promise<void> {
  const { session } = options;
  const pending = await withRuntime(options, ({ runtime }) =>
    runtime.approvals.pending(session === undefined ? {} : { sessionId: session }),
  );
  if (options.json === true) {
    for (const request of pending) await cli.out.write(`${jsonText(request)}\n`);
    return;
  }
  const lines = pending.flatMap((request) => requestLines(request, ledgerHint(options)));
  await cli.out.lines(lines.length === 0 ? [textLine('no request is open')] : lines);
}
