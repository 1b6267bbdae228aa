import type { AgentEvent } from '../../machines/agent.ts';
import type { EventOf, InputOf, MachineKind } from '../../machines/machine-kind.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { createTurnReplayer, type TurnReplayer } from '../ledger/replay.ts';
import type { Lifecycle, LifecycleHost } from '../lifecycle/lifecycle.ts';
import { GraphPlayer } from './graph-player.ts';

interface Played<K extends MachineKind> {
  readonly machine: Lifecycle<K>;
  /** Events it was led through. */
  readonly events: EventOf<K>[];
}

type PlayedKind = 'turn' | 'step' | 'tool-call';

/** Where a machine is to be led. */
interface Way<K extends PlayedKind> {
  readonly kind: K;
  readonly id: string;
  readonly parentId: string;
  readonly events: readonly EventOf<K>[];
  readonly input: InputOf<K>;
}

const NO_BOUND = Number.POSITIVE_INFINITY;

/** Leads the machines of a host through the facts of any number of sessions, record by record. */
export class LedgerPlayer {
  readonly #host: LifecycleHost;
  readonly #graphs: GraphPlayer;
  readonly #agents = new Map<string, Lifecycle<'agent'>>();
  readonly #turns = new Map<string, TurnReplayer>();
  /** By id; those that ended are kept until their turn does. */
  readonly #played = new Map<string, Played<PlayedKind>>();

  constructor(host: LifecycleHost) {
    this.#host = host;
    this.#graphs = new GraphPlayer(host);
  }

  play(record: LedgerRecord): void {
    const agent = this.#agentOf(record);
    for (const event of agentEvents(record, agent.state)) agent.send(event);
    if (!this.#graphs.play(record) && record.turn !== undefined) this.#playTurn(record, record.turn);
    // What its agent hears follows the end of the turn; of one that is given up while it is paused, nobody hears.
    if (record.type === 'turn.closed' && agent.state === 'running') {
      const { status } = record.data;
      agent.send(status === 'yielded' ? { type: 'TURN_YIELDED' } : { type: 'TURN_DONE', status });
    }
  }

  /** The ledger ends here: whoever is at rest stops, what is open stays open. */
  finish(): void {
    for (const agent of this.#agents.values()) if (agent.state === 'idle') agent.send({ type: 'STOP' });
  }

  #agentOf({ session, root, parent, agent: name }: LedgerRecord): Lifecycle<'agent'> {
    const known = this.#agents.get(session);
    if (known !== undefined) return known;
    const parentId = parent === undefined ? {} : { parentId: parent };
    const input = { agentId: session, maxRestarts: NO_BOUND, ...parentId };
    const agent = this.#host.start('agent', { id: session, name, rootId: root, session, ...parentId, input });
    this.#agents.set(session, agent);
    return agent;
  }

  #playTurn(record: LedgerRecord, turnId: string): void {
    const replayer = this.#turns.get(turnId) ?? createTurnReplayer(turnId);
    this.#turns.set(turnId, replayer);
    replayer.add(record);
    const { turn, steps, calls } = replayer.replay();
    const { session, step, call } = record;
    const leadTurn = () => {
      const input = { turnId, agentId: session, maxSteps: NO_BOUND };
      this.#lead(record, { kind: 'turn', id: turnId, parentId: session, events: turn, input });
    };
    // A turn hears of a step or call that begins before that does, and of one that goes on after.
    const part = call ?? step;
    if (part === undefined || !this.#played.has(part)) leadTurn();
    if (call !== undefined) {
      const input = callInput(call, record);
      for (const [id, events] of calls)
        if (id === call || id.startsWith(`${call}#`))
          this.#lead(record, { kind: 'tool-call', id, parentId: turnId, events, input });
    } else if (step !== undefined) {
      const input = stepInput(step, record);
      const events = steps.get(step) ?? [];
      this.#lead(record, { kind: 'step', id: step, parentId: turnId, events, input });
    }
    leadTurn();
    if (record.type === 'turn.closed') this.#forget(turnId);
  }

  /** Brings a machine to where the events end; one that was led elsewhere begins anew, as it did after a restart. */
  #lead<K extends PlayedKind>({ session, root }: LedgerRecord, way: Way<K>): void {
    const { kind, id, parentId, events, input } = way;
    // Stored below, for ids of this kind.
    const before = this.#played.get(id) as Played<K> | undefined;
    if (before?.events.every((event, at) => events[at] === event) === true) {
      for (const event of events.slice(before.events.length)) {
        before.machine.send(event);
        before.events.push(event);
      }
      return;
    }
    this.#host.stopTree(id);
    const machine = this.#host.start(kind, { id, parentId, rootId: root, session, input });
    for (const event of events) machine.send(event);
    this.#played.set(id, { machine, events: [...events] } as unknown as Played<PlayedKind>);
  }

  #forget(turnId: string): void {
    this.#turns.delete(turnId);
    for (const id of this.#played.keys()) {
      if (id !== turnId && !id.startsWith(`${turnId}.`)) continue;
      this.#host.stopTree(id);
      this.#played.delete(id);
    }
  }
}

function stepInput(stepId: string, record: LedgerRecord): InputOf<'step'> {
  const opened = record.type === 'step.opened' ? record.data : undefined;
  return {
    stepId,
    index: opened?.index ?? Number(stepId.slice(stepId.lastIndexOf('.') + 1)),
    visibleCount: opened?.visible.length ?? 0,
    // What was retried is in the facts; nothing is decided here.
    maxAttempts: NO_BOUND,
    maxIdleRetries: NO_BOUND,
    maxTruncatedRetries: NO_BOUND,
  };
}

function callInput(callId: string, record: LedgerRecord): InputOf<'tool-call'> {
  const called = record.type === 'tool.called' ? record.data : undefined;
  return {
    callId,
    stepId: record.step ?? callId,
    toolName:
      called?.requestedName ??
      called?.toolName ??
      ('toolName' in record.data ? record.data.toolName : 'tool'),
    origin: 'model',
    recovery: record.type === 'tool.dispatched' ? record.data.recovery : 'never_auto_retry',
  };
}

/** The actor of a session leaves no facts of its own: its turns and children are what moves it. */
function agentEvents(record: LedgerRecord, state: Lifecycle<'agent'>['state']): readonly AgentEvent[] {
  switch (record.type) {
    case 'turn.opened':
      return [{ type: 'MESSAGE' }];
    case 'turn.resumed':
      return state === 'running' ? [] : [{ type: 'WAKE', reason: 'resume' }];
    case 'turn.paused':
      return [{ type: 'TURN_DONE', status: 'paused' }];
    case 'steering.accepted':
      return state === 'running' ? [{ type: 'STEER' }] : [];
    case 'child.started':
      return [{ type: 'CHILD_STARTED', childId: record.data.child }];
    case 'child.finished':
      return [{ type: 'CHILD_DONE', childId: record.data.child, status: record.data.status }];
    case 'child.lost':
      return [{ type: 'CHILD_DONE', childId: record.data.child, status: 'lost' }];
    default:
      return [];
  }
}
