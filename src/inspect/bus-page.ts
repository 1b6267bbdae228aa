import { systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import type { RunEvent } from '../events/event-schemas.ts';
import type { InspectedRequest, InspectedRuntime } from '../lifecycle/inspector.ts';
import { PAGE_LIMITS } from '../limits.ts';
import type { CommandReply } from '../nats/command-messages.ts';
import type { Connection } from '../nats/connection.ts';
import { sendCommand } from '../nats/send-command.ts';
import { subscribe } from '../nats/subscribe.ts';
import { createEventLog, type EventLog } from './event-log.ts';
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
  const stop = new AbortController();
  const log = createEventLog(PAGE_LIMITS.busEvents);
  const place = ns === undefined ? { connection } : { connection, ns };
  const server = await servePage({
    settings,
    runtime: busRuntime(log, place),
    facts: () => Promise.resolve(log),
    ring: createMoveRing(1),
    live: () => [],
  });
  const ended = follow(log, { ...place, signal: stop.signal });
  ended.catch(() => undefined);
  const fragment = settings.token === undefined ? '' : `#token=${encodeURIComponent(settings.token)}`;
  return {
    url: `${server.url}${fragment}`,
    ended,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await server.close();
      await ended.catch(() => undefined);
    },
  };
}

interface Place {
  readonly connection: Connection;
  readonly ns?: string;
}

async function follow(log: EventLog, place: Place & { readonly signal: AbortSignal }): Promise<void> {
  for await (const item of subscribe({ ...place, from: 'start' })) {
    if (item.type === 'event') log.push(item.event);
  }
}

/** What a viewer may ask of those who own the sessions, wherever they are. */
function busRuntime(log: EventLog, place: Place): Omit<InspectedRuntime, 'ledger'> {
  return {
    clock: systemClock,
    pending: () => Promise.resolve([...openRequests(log.all()).values()].map(requestOf)),
    async decide(id, { decision, scope, reason, answer, actor }) {
      const asked = openRequests(log.all()).get(id);
      if (asked === undefined) throw new SwarmError('unknown-approval', `nothing waits under ${id}`);
      const { session } = asked;
      const said = {
        ...{ request: id, argsHash: asked.data.argsHash },
        ...(scope === undefined ? {} : { scope }),
        ...(reason === undefined ? {} : { reason }),
        ...(actor === undefined ? {} : { actor }),
      };
      if (decision === 'deny') settle(await sendCommand({ ...place, session, verb: 'deny', body: said }));
      else {
        const body = answer === undefined ? said : { ...said, answer };
        settle(await sendCommand({ ...place, session, verb: 'approve', body }));
      }
    },
    async steer(session, text) {
      settle(await sendCommand({ ...place, session, verb: 'steer', body: { text } }));
    },
    async cancel(session, reason) {
      settle(await sendCommand({ ...place, session, verb: 'cancel', body: { reason } }));
    },
  };
}

/** @throws SwarmError with the code of a refusal */
function settle(reply: CommandReply): void {
  if (reply.accepted) return;
  // The owner is a runtime of this project: its codes are ours.
  throw new SwarmError(reply.code as SwarmError['code'], reply.message);
}

type Requested = Extract<RunEvent, { readonly type: 'approval.requested' }>;

/** Requests without an end, oldest first. */
function openRequests(events: readonly RunEvent[]): ReadonlyMap<string, Requested> {
  const open = new Map<string, Requested>();
  for (const event of events) {
    if (event.type === 'approval.requested') open.set(event.data.request, event);
    else if (event.type === 'approval.decided' || event.type === 'approval.expired') {
      open.delete(event.data.request);
    } else if (event.type === 'turn.closed') {
      for (const [id, { turn }] of open) if (turn === event.turn) open.delete(id);
    }
  }
  return open;
}

function requestOf({ data, session, agentPath, call = '' }: Requested): InspectedRequest {
  const { request, kind, toolName, rememberable, expiresAt, question, input = {} } = data;
  return {
    ...{ id: request, kind, toolName, input, callId: call, sessionId: session, agentPath, rememberable },
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(question === undefined ? {} : { question }),
  };
}
