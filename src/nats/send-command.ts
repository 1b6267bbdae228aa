import { isSwarmError, SwarmError } from '../errors.ts';
import { randomIds } from '../ids.ts';
import { NATS_LIMITS } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import {
  COMMAND_BODIES,
  type CommandBody,
  type CommandReply,
  commandReplySchema,
  encodeMessage,
} from './command-messages.ts';
import { type Connection, openConnection } from './connection.ts';
import { readJson } from './jet-stream-api.ts';
import { COMMAND_VERBS, type CommandVerb, createSubjects, type SubjectOptions } from './subjects.ts';

/** A command for a session. */
export interface SendCommandOptions<V extends CommandVerb> extends SubjectOptions {
  readonly connection: Connection;
  readonly session: string;
  readonly verb: V;
  /** `id` is made where it is left out; send the same one again to ask after an answer that was lost. */
  readonly body: Omit<CommandBody<V>, 'id'> & { readonly id?: string };
  /** Default 15,000. */
  readonly timeoutMs?: number;
}

const OPTIONS: OptionNames<SendCommandOptions<CommandVerb>> = {
  ns: true,
  subjectRoot: true,
  connection: true,
  session: true,
  verb: true,
  body: true,
  timeoutMs: true,
};

/**
 * Sends a command to whoever serves the session. Resolves to the answer, which may be a refusal with its code.
 * @throws SwarmError 'nats-unavailable' when nobody answers in time or nobody serves commands, 'nats-rejected' where
 * the user may not send it, 'invalid-input', 'invalid-definition'
 */
export async function sendCommand<V extends CommandVerb>(
  options: SendCommandOptions<V>,
): Promise<CommandReply> {
  assertOptions('sendCommand', options, OPTIONS);
  const { session, verb, timeoutMs = NATS_LIMITS.commandMs } = options;
  if (!COMMAND_VERBS.includes(verb)) {
    throw new SwarmError('invalid-input', `verb is one of ${COMMAND_VERBS.join(', ')}`);
  }
  const body = { id: randomIds.next('inbox'), ...options.body };
  const checked = COMMAND_BODIES[verb].safeParse(body);
  if (!checked.success) {
    const wrong = checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new SwarmError('invalid-input', `the body of ${verb} does not fit: ${wrong.join(', ')}`);
  }
  const { client, isOwn } = openConnection(options.connection);
  try {
    await client.connected(AbortSignal.timeout(timeoutMs));
    const subject = createSubjects(options).command(session, verb);
    const answer = await client
      .request(subject, encodeMessage(body), { timeoutMs })
      .catch((error: unknown) => {
        if (!isSwarmError(error, 'nats-unavailable')) throw error;
        const who =
          'workers, and programs that call serveCommands(), answer for the sessions of their ledger';
        const message = `nobody answered ${verb} for ${session}: ${who}`;
        throw new SwarmError('nats-unavailable', message, { cause: error });
      });
    const reply = commandReplySchema.safeParse(readJson(answer.data));
    if (!reply.success) throw new SwarmError('nats-unavailable', 'the answer to the command is none');
    return reply.data;
  } finally {
    if (isOwn) await client.close();
  }
}
