import type { RunEvent } from '../events/event-schemas.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { InspectedRequest } from '../lifecycle/inspector.ts';
import { hashArguments } from '../tools/argument-snapshot.ts';
import type { EventLog } from './event-log.ts';

/** A request that events tell of, and what a decision on it has to name. */
export interface BusRequest extends InspectedRequest {
  readonly argsHash: string;
}

/** Requests of a bus that have no end yet. */
export interface BusRequests {
  note(event: RunEvent): void;
  /** Oldest first. */
  open(): readonly BusRequest[];
  find(id: string): BusRequest | undefined;
}

/** More are never decided one by one; the oldest are forgotten. */
const MAX_OPEN = 1_000;
/** Events between a call and its request: those of calls beside it. */
const MAX_BETWEEN = 5_000;

type Requested = Extract<RunEvent, { readonly type: 'approval.requested' }>;

/** Follows the events of `log`, which has each of them before it is noted. */
export function createBusRequests(log: Pick<EventLog, 'findLast'>): BusRequests {
  const open = new Map<string, BusRequest>();
  const turns = new Map<string, string | undefined>();
  const forget = (id: string) => {
    open.delete(id);
    turns.delete(id);
  };
  return {
    note(event) {
      if (event.type === 'approval.requested') {
        open.set(event.data.request, requestOf(event, log));
        turns.set(event.data.request, event.turn);
        const [oldest = ''] = open.keys();
        if (open.size > MAX_OPEN) forget(oldest);
      } else if (event.type === 'approval.decided' || event.type === 'approval.expired') {
        forget(event.data.request);
      } else if (event.type === 'turn.closed') {
        for (const [id, turn] of turns) if (turn === event.turn) forget(id);
      }
    },
    open: () => [...open.values()],
    find: (id) => open.get(id),
  };
}

function requestOf(event: Requested, log: Pick<EventLog, 'findLast'>): BusRequest {
  const { data, session, agentPath, call = '' } = event;
  const { request, kind, toolName, argsHash, rememberable, expiresAt, question } = data;
  return {
    ...{ id: request, kind, toolName, argsHash, callId: call, sessionId: session, agentPath, rememberable },
    ...argumentsFor(event, log),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(question === undefined ? {} : { question }),
  };
}

/** Anybody who may publish can write events: what they show is held to the hash that the decision names. */
function argumentsFor(
  event: Requested,
  log: Pick<EventLog, 'findLast'>,
): Pick<InspectedRequest, 'input' | 'doubt'> {
  const replaced = event.data.input;
  const { args, isMasked } =
    replaced === undefined
      ? argumentsOfCall(event, log)
      : { args: replaced, isMasked: hasMasked(event, '/input') };
  if (args === undefined) return { doubt: 'absent' };
  if (isHashOf(event.data.argsHash, args)) return { input: args };
  return { input: args, doubt: isMasked ? 'masked' : 'different' };
}

function argumentsOfCall({ call, session }: Requested, log: Pick<EventLog, 'findLast'>) {
  const [ofCall, ofSession] = [`"call":${JSON.stringify(call)}`, `"session":${JSON.stringify(session)}`];
  const called = log.findLast(
    (text) => text.includes(ofCall) && text.includes('"type":"tool.called"') && text.includes(ofSession),
    MAX_BETWEEN,
  );
  const isFound = called?.type === 'tool.called' && called.call === call && called.session === session;
  // Arguments that are too large for a record lie elsewhere, and what is in it stands for them.
  const isWhole = isFound && called.data.argsRef === undefined;
  const args: JsonObject | undefined = isWhole ? called.data.args : undefined;
  return { args, isMasked: called !== undefined && hasMasked(called, '/args') };
}

function hasMasked({ redacted }: RunEvent, pointer: string): boolean {
  return redacted.some((one) => one === pointer || one.startsWith(`${pointer}/`));
}

function isHashOf(hash: string, args: JsonObject): boolean {
  try {
    return hashArguments(args) === hash;
  } catch {
    // Nested deeper than any arguments that a runtime takes: they are of no call.
    return false;
  }
}
