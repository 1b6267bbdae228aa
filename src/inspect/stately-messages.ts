import { createInspector, type StatelyInspectionEvent } from '@statelyai/inspect';
import type { InspectionEvent } from 'xstate';
import { START_STATE } from '../../machines/hooks.ts';
import type { MachineKind } from '../../machines/machine-kind.ts';
import { contextFacts, type MetaValue, type TransitionRecord } from '../lifecycle/transition-record.ts';

/** A machine as a viewer is told of it. */
export interface ShownMachine {
  /** Its config as JSON: names of guards and actions, no functions. */
  readonly config: string;
  /** By state. */
  readonly tags: Readonly<Record<string, readonly string[]>>;
}

/** Every machine that runs, by kind. */
export type ShownMachines = Readonly<Record<MachineKind, ShownMachine>>;

/** What is to be told of an instance. */
export type Telling =
  /** That it exists, in the state it has after `record`. */
  | { readonly type: 'actor'; readonly record: TransitionRecord }
  | { readonly type: 'event'; readonly record: TransitionRecord; readonly snapshot: boolean }
  /** That messages were dropped before the ones that follow. */
  | { readonly type: 'dropped'; readonly count: number; readonly record: TransitionRecord };

/** Makes messages of the official protocol and hands each to `send`, in order. */
export interface MessageMaker {
  /** Resolves when all messages of `tellings` were sent. */
  make(tellings: readonly Telling[]): Promise<number>;
}

/** Event that tells how many messages were dropped. No machine of the runtime has one like it. */
export const DROPPED_EVENT = 'swarmwright.dropped';

/**
 * Has the package of the inspector itself convert what happened, so that its own version of the protocol is spoken:
 * it is told in the words in which XState tells it.
 */
export function createMessageMaker(
  machines: ShownMachines,
  send: (message: StatelyInspectionEvent) => void,
): MessageMaker {
  const configs = new Map(Object.entries(machines).map(([kind, { config }]) => [kind, JSON.parse(config)]));
  /** When what is being converted happened; the package knows only now. */
  const times: number[] = [];
  let waiting: { left: number; resolve: () => void } | undefined;
  const inspector = createInspector({
    send(message) {
      send({ ...message, createdAt: String(times.shift() ?? Date.now()) });
      if (waiting === undefined) return;
      waiting.left -= 1;
      if (waiting.left === 0) waiting.resolve();
    },
  });

  return {
    async make(tellings) {
      const spoken = tellings.flatMap((telling) => {
        const events = inXStateWords(telling, machines, configs);
        for (const _ of events) times.push(telling.record.at);
        return events;
      });
      if (spoken.length === 0) return 0;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting = { left: spoken.length, resolve };
      for (const event of spoken) inspector.inspect.next?.(event);
      await promise;
      waiting = undefined;
      return spoken.length;
    },
  };
}

/** What XState would say; only the fields that the package reads. */
function inXStateWords(
  telling: Telling,
  machines: ShownMachines,
  configs: ReadonlyMap<string, unknown>,
): readonly InspectionEvent[] {
  const { record } = telling;
  const snapshot = snapshotOf(record, machines);
  const actorRef = {
    id: nameOf(record),
    sessionId: record.id,
    ...(record.parentId === undefined ? {} : { _parent: { sessionId: record.parentId } }),
    logic: { config: configs.get(record.kind) },
    getSnapshot: () => snapshot,
  };
  const base = { rootId: record.rootId, actorRef };
  const says = (event: object): InspectionEvent =>
    // An observer of XState is given live actors; the package looks at nothing but the fields above.
    ({ ...base, ...event }) as unknown as InspectionEvent;
  switch (telling.type) {
    case 'actor':
      return [says({ type: '@xstate.actor' })];
    case 'event': {
      const event = eventOf(record);
      const said = says({ type: '@xstate.event', event });
      return telling.snapshot ? [said, says({ type: '@xstate.snapshot', event, snapshot })] : [said];
    }
    case 'dropped':
      return [says({ type: '@xstate.event', event: { type: DROPPED_EVENT, count: telling.count } })];
  }
}

/** The event as it was sent, without what only an actor of this process may know. */
function eventOf({ event, from, facts }: TransitionRecord): object {
  return from === START_STATE ? { type: 'xstate.init' } : { type: event, ...facts };
}

function snapshotOf(record: TransitionRecord, machines: ShownMachines): object {
  const status = record.fault === true ? 'error' : record.final === true ? 'done' : 'active';
  return {
    status,
    ...(status === 'error' && { error: {} }),
    context: contextOf(record),
    value: record.to,
    children: {},
    historyValue: {},
    tags: machines[record.kind].tags[record.to] ?? [],
  };
}

/** The counted facts of the instance, with the ids that the record has apart. */
function contextOf(record: TransitionRecord): object {
  const { kind, session, parentId, turn, step, call } = record;
  const context: Record<string, MetaValue> = {};
  for (const name of contextFacts(kind)) {
    const value = record.meta[name];
    if (value !== undefined) context[name] = value;
  }
  switch (kind) {
    case 'agent':
      return { ...context, agentId: session, parentId: parentId ?? null };
    case 'turn':
      return { ...context, turnId: turn, agentId: session };
    case 'step':
      return { ...context, stepId: step };
    case 'tool-call':
      return { ...context, stepId: step, callId: call };
    default:
      return context;
  }
}

/** What a person tells instances apart by; their parents are drawn around them. */
function nameOf({ kind, id, name, meta }: TransitionRecord): string {
  switch (kind) {
    case 'step':
      return `step ${meta['index']}`;
    case 'tool-call':
      return `call ${meta['toolName']}`;
    case 'turn':
      return `turn ${id.slice(id.lastIndexOf('.') + 1)}`;
    default:
      return `${kind} ${name ?? id}`;
  }
}
