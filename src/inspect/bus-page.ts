import { systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import type { InspectedDecision, InspectedRuntime } from '../lifecycle/inspector.ts';
import { PAGE_LIMITS } from '../limits.ts';
import type { NatsClient } from '../nats/client.ts';
import type { CommandReply } from '../nats/command-messages.ts';
import { type Connection, openConnection } from '../nats/connection.ts';
import { sendCommand } from '../nats/send-command.ts';
import { subscribe } from '../nats/subscribe.ts';
import { type BusRequests, createBusRequests } from './bus-requests.ts';
import { createEventLog } from './event-log.ts';
import { createMoveRing } from './move-ring.ts';
import { type PageOptions, resolvePageOptions } from './page-options.ts';
import { servePage } from './page-server.ts';

/** What a page over a bus shows. */
export interface BusPageOptions extends Omit<PageOptions, 'content'> {
  readonly connection: Connection;
  /** Tenant or environment. Default `default`. */
  readonly ns?: string;
}

/** A page over the events of a bus. */
export interface BusPage extends AsyncDisposable {
  /** Where it is, with the token in its fragment. */
  readonly url: string;
  /** Ends with the reading: rejects with what went wrong, never resolves before the page is closed. */
  readonly ended: Promise<void>;
}

/**
 * Serves a page over all that is on a bus: a swarm on any number of machines in one place. It knows what events tell:
 * no state between two facts, and no content that was not published. Answers, steering and cancelling are commands.
 * @throws SwarmError 'invalid-inspector', 'nats-insecure'
 */
export async function serveBusPage(options: BusPageOptions): Promise<BusPage> {
  const { connection, ns, ...pageOptions } = options;
  const settings = resolvePageOptions({ ...pageOptions, content: true });
  const { client, isOwn } = openConnection(connection);
  const stop = new AbortController();
  const log = createEventLog({ maxEvents: PAGE_LIMITS.busEvents, maxBytes: PAGE_LIMITS.busBytes });
  const requests = createBusRequests(log);
  const place = ns === undefined ? { connection: client } : { connection: client, ns };
  const follow = async () => {
    for await (const item of subscribe({ ...place, from: 'start', signal: stop.signal })) {
      if (item.type !== 'event') continue;
      log.push(item.event);
      requests.note(item.event);
    }
  };
  const serving = servePage({
    settings,
    runtime: busRuntime(requests, place),
    facts: () => Promise.resolve(log),
    ring: createMoveRing(1),
    live: () => [],
    trouble: () => troubleOf(client),
  });
  const server = await serving.catch(async (error: unknown) => {
    if (isOwn) await client.close();
    throw error;
  });
  const ended = follow();
  ended.catch(() => undefined);
  const fragment = settings.token === undefined ? '' : `#token=${encodeURIComponent(settings.token)}`;
  return {
    url: `${server.url}${fragment}`,
    ended,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await server.close();
      await ended.catch(() => undefined);
      if (isOwn) await client.close();
    },
  };
}

/** What is on the page is then as old as the last event that came. */
function troubleOf({ state }: NatsClient): string | undefined {
  if (state.type === 'connected') return undefined;
  return state.type === 'connecting' ? 'The bus is not reached yet' : 'The bus is not reached; trying again';
}

interface Place {
  readonly connection: NatsClient;
  readonly ns?: string;
}

/** What a viewer may ask of those who own the sessions, wherever they are. */
function busRuntime(requests: BusRequests, place: Place): Omit<InspectedRuntime, 'ledger'> {
  return {
    clock: systemClock,
    pending: () => Promise.resolve(requests.open()),
    decide: (id, decision) => sendDecision(requests, place, { id, decision }),
    async steer(session, text) {
      settle(await sendCommand({ ...place, session, verb: 'steer', body: { text } }));
    },
    async cancel(session, reason) {
      settle(await sendCommand({ ...place, session, verb: 'cancel', body: { reason } }));
    },
  };
}

async function sendDecision(
  requests: BusRequests,
  place: Place,
  { id, decision: made }: { readonly id: string; readonly decision: InspectedDecision },
): Promise<void> {
  const asked = requests.find(id);
  if (asked === undefined) throw new SwarmError('unknown-approval', `nothing waits under ${id}`);
  const { sessionId: session, argsHash, doubt } = asked;
  const { decision, scope, reason, answer, actor } = made;
  // Whoever may publish can tell of a request again: what was looked at has to be what is decided on.
  if (decision === 'approve' && (doubt === 'different' || made.argsHash !== argsHash)) {
    throw new SwarmError('approval-arguments-differ', `what was shown as the arguments of ${id} is not`);
  }
  const said = {
    ...{ request: id, argsHash },
    ...(scope === undefined ? {} : { scope }),
    ...(reason === undefined ? {} : { reason }),
    ...(actor === undefined ? {} : { actor }),
  };
  if (decision === 'deny') settle(await sendCommand({ ...place, session, verb: 'deny', body: said }));
  else {
    const body = answer === undefined ? said : { ...said, answer };
    settle(await sendCommand({ ...place, session, verb: 'approve', body }));
  }
}

/** @throws SwarmError with the code of a refusal */
function settle(reply: CommandReply): void {
  if (reply.accepted) return;
  // The owner is a runtime of this project: its codes are ours.
  throw new SwarmError(reply.code as SwarmError['code'], reply.message);
}
