import { sleep, systemClock } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import type { Ledger, SessionSummary } from '../ledger/ledger.ts';
import { NATS_LIMITS } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import type { Runtime } from '../runtime.ts';
import { type CommandGround, cancel, decide, pause, query, resume, steer } from './carry-out-command.ts';
import type { NatsMessage } from './client.ts';
import { COMMAND_BODIES, type CommandReply, encodeMessage, refuse } from './command-messages.ts';
import { type Connection, openConnection } from './connection.ts';
import { readJson } from './jet-stream-api.ts';
import { messageOf } from './nats-error.ts';
import { COMMAND_VERBS, type CommandVerb, createSubjects, type SubjectOptions } from './subjects.ts';

/** Options of {@link serveCommands}. */
export interface ServeCommandsOptions extends SubjectOptions {
  readonly connection: Connection;
  readonly runtime: Runtime;
  /** The ledger of the runtime. */
  readonly ledger: Ledger;
  /**
   * Whether requests that wait for a person may be decided from elsewhere. `decide`: for the very arguments they were
   * asked for. `edit`: also with others in their place. Default `off`.
   */
  readonly approvals?: 'off' | 'decide' | 'edit';
  /** Of all services of a group one carries out each command. For processes that share a ledger. Default: all answer. */
  readonly group?: string;
}

const OPTIONS: OptionNames<ServeCommandsOptions> = {
  ns: true,
  subjectRoot: true,
  connection: true,
  runtime: true,
  ledger: true,
  approvals: true,
  group: true,
};

/** A service that answers commands until it is closed. */
export interface CommandService extends AsyncDisposable {
  close(): Promise<void>;
}

/** Answers that are remembered, so that a command that is repeated is answered alike. */
const REMEMBERED = 1_000;
/** A process that does not know whether a session is its own lets others speak first: only one ledger has it. */
const STRANGER_MS = 500;
/** Answers that wait for others to speak; beyond, nothing is said. */
const MAX_LATE = 1_000;

/**
 * Answers commands for the sessions of a ledger, whichever process is at work on them. What a command does is a fact of
 * the ledger before it is answered. Decisions on approvals are refused unless `approvals` says otherwise: who may
 * send them is up to the permissions of the NATS users.
 * @throws SwarmError 'invalid-definition', 'nats-insecure'
 */
export function serveCommands(options: ServeCommandsOptions): CommandService {
  assertOptions('serveCommands', options, OPTIONS);
  const { client, isOwn } = openConnection(options.connection);
  const service = new Service(options);
  const subscriptions = COMMAND_VERBS.map((verb) =>
    client.subscribe(service.subjects.commands(verb), (message) => void service.take(message), options.group),
  );
  const close = async () => {
    for (const subscription of subscriptions) subscription.close();
    await service.idle();
    if (isOwn) await client.close();
  };
  return { close, [Symbol.asyncDispose]: close };
}

class Service {
  readonly subjects;
  readonly #ground: CommandGround;
  readonly #approvals: 'off' | 'decide' | 'edit';
  readonly #answers = new Map<string, Promise<CommandReply>>();
  readonly #working = new Set<Promise<void>>();
  readonly #late = new Set<Promise<void>>();

  constructor(options: ServeCommandsOptions) {
    const { runtime, ledger, approvals = 'off' } = options;
    this.subjects = createSubjects(options);
    this.#approvals = approvals;
    this.#ground = { runtime, ledger, clock: systemClock, allowsEdits: approvals === 'edit' };
  }

  async idle(): Promise<void> {
    await Promise.all(this.#working);
    await Promise.all(this.#late);
  }

  /** Never rejects. */
  async take(message: NatsMessage): Promise<void> {
    if (this.#working.size >= NATS_LIMITS.commands) {
      return this.#refuseLate(
        message,
        refuse('mailbox-full', `${NATS_LIMITS.commands} commands are at work`),
      );
    }
    const work = this.#answer(message).then(
      (reply) => {
        if (!reply.accepted && reply.code === 'unknown-session') void this.#refuseLate(message, reply);
        else message.respond(encodeMessage(reply));
      },
      // The connection went while the command was at work; who asked asks again.
      () => undefined,
    );
    this.#working.add(work);
    await work;
    this.#working.delete(work);
  }

  /** Refuses once whoever has the session has answered. It takes no place of a command meanwhile. */
  async #refuseLate(message: NatsMessage, reply: CommandReply): Promise<void> {
    if (this.#late.size >= MAX_LATE) return;
    const { clock } = this.#ground;
    const late = sleep(clock, STRANGER_MS, new AbortController().signal).then(
      () => void message.respond(encodeMessage(reply)),
    );
    this.#late.add(late);
    await late;
    this.#late.delete(late);
  }

  async #answer(message: NatsMessage): Promise<CommandReply> {
    const target = this.subjects.parseCommand(message.subject);
    if (target === undefined) return refuse('unknown-session', 'the subject names no session');
    if (message.data.length > NATS_LIMITS.maxCommandBytes) {
      return refuse('invalid-input', `a command has at most ${NATS_LIMITS.maxCommandBytes} bytes`);
    }
    const { session, verb } = target;
    const body = COMMAND_BODIES[verb].safeParse(readJson(message.data));
    if (!body.success) {
      const [issue] = body.error.issues;
      return refuse('invalid-input', `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? ''}`);
    }
    if (verb === 'query') return this.#try(session, verb, body.data);
    const key = `${session} ${verb} ${body.data.id}`;
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const reply = this.#try(session, verb, body.data);
    this.#remember(key, reply);
    return reply;
  }

  /** A refusal is not remembered: the reason for it may be gone the next time. */
  #remember(key: string, reply: Promise<CommandReply>): void {
    this.#answers.set(key, reply);
    void reply.then(({ accepted }) => {
      if (!accepted) this.#answers.delete(key);
    });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > REMEMBERED && oldest !== undefined) this.#answers.delete(oldest);
  }

  async #try(session: string, verb: CommandVerb, body: unknown): Promise<CommandReply> {
    try {
      const known = await this.#sessionOf(session);
      return await this.#carryOut(known, verb, body);
    } catch (error) {
      const code = isSwarmError(error) ? error.code : 'machine-fault';
      return refuse(code, messageOf(error));
    }
  }

  async #sessionOf(session: string): Promise<SessionSummary> {
    const found = await this.#ground.ledger.summary(session);
    if (found !== undefined) return found;
    throw new SwarmError('unknown-session', `no session ${session} is in the ledger`);
  }

  #carryOut(session: SessionSummary, verb: CommandVerb, body: unknown): Promise<CommandReply> {
    const ground = this.#ground;
    switch (verb) {
      case 'steer':
        return steer(ground, session, COMMAND_BODIES.steer.parse(body));
      case 'cancel':
        return cancel(ground, session, COMMAND_BODIES.cancel.parse(body));
      case 'approve':
        this.#assertDecides();
        return decide(ground, session, 'approve', COMMAND_BODIES.approve.parse(body));
      case 'deny':
        this.#assertDecides();
        return decide(ground, session, 'deny', COMMAND_BODIES.deny.parse(body));
      case 'resume':
        return resume(ground, session);
      case 'query':
        return query(ground, session);
      case 'pause':
        return pause(ground, session, COMMAND_BODIES.pause.parse(body));
    }
  }

  #assertDecides(): void {
    if (this.#approvals !== 'off') return;
    throw new SwarmError(
      'command-disabled',
      'approvals are not decided from elsewhere here: `approvals` of serveCommands(), or --approvals of a worker',
    );
  }
}
