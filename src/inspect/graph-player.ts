import type { LedgerRecord, PauseReason, RecordOf } from '../ledger/records.ts';
import type { Lifecycle, LifecycleHost } from '../lifecycle/lifecycle.ts';

interface PlayedGraph {
  machine: Lifecycle<'graph-supervisor'>;
  /** Works that were claimed and have no outcome. */
  readonly active: Set<string>;
}

/**
 * Leads the machines that look after graphs through the facts of any number of sessions: one for each turn of a graph
 * in code, one for each session whose model schedules.
 */
export class GraphPlayer {
  readonly #host: LifecycleHost;
  readonly #graphs = new Map<string, PlayedGraph>();
  /** Sessions that are graphs themselves: their turns have no machine of their own. */
  readonly #sessions = new Set<string>();

  constructor(host: LifecycleHost) {
    this.#host = host;
  }

  /** True where the fact is of a session that is a graph, whose turn is nothing else. */
  play(record: LedgerRecord): boolean {
    if (record.type === 'session.opened' && record.data.kind === 'graph') this.#sessions.add(record.session);
    const isGraph = this.#sessions.has(record.session);
    if (isGraph ? record.turn !== undefined : isOfSchedule(record)) this.#lead(record, isGraph);
    return isGraph;
  }

  #lead(record: LedgerRecord, isGraph: boolean): void {
    const { session } = record;
    const id = isGraph ? (record.turn ?? session) : `${session}.graph`;
    const graph = this.#graphs.get(id) ?? { machine: this.#start(id, record), active: new Set<string>() };
    this.#graphs.set(id, graph);
    switch (record.type) {
      case 'graph.updated':
        graph.machine.send({ type: 'UPDATED', revision: record.data.revision });
        return;
      case 'graph.claimed':
        graph.active.add(record.data.work);
        graph.machine.send({ type: 'WORK_STARTED', work: record.data.work });
        return;
      case 'node.finished':
        if (isOutcome(record)) settle(graph, record.data.work, record.data.status);
        return;
      case 'node.skipped':
        settle(graph, record.data.work, 'skipped');
        return;
      case 'turn.paused':
        pause(graph, record.data.reason);
        return;
      case 'turn.resumed':
        this.#resume(graph, id, record);
        return;
      case 'graph.finished':
        close(graph, record.data.status, record.data.error?.kind);
        if (!isGraph) graph.machine.send({ type: 'CLOSED' });
        return;
      case 'turn.closed':
        close(graph, record.data.status, record.data.error?.kind);
        graph.machine.send({ type: 'CLOSED' });
        return;
      default:
    }
  }

  #start(id: string, { session, root, agent: name }: LedgerRecord): Lifecycle<'graph-supervisor'> {
    const input = { graphId: session };
    return this.#host.start('graph-supervisor', {
      id,
      name,
      parentId: session,
      rootId: root,
      session,
      input,
    });
  }

  /** A process that takes a graph up begins with a machine of its own, and with the works that are under way. */
  #resume(graph: PlayedGraph, id: string, record: LedgerRecord): void {
    if (graph.machine.state !== 'paused' && graph.machine.state !== 'empty') {
      this.#host.stopTree(id);
      graph.machine = this.#start(id, record);
    }
    graph.machine.send({ type: 'RESUMED' });
    for (const work of graph.active) graph.machine.send({ type: 'WORK_STARTED', work });
  }
}

function isOfSchedule({ type }: LedgerRecord): boolean {
  return type.startsWith('graph.') || type.startsWith('node.');
}

/** The last attempt of a work, and one whose outcome is known. */
function isOutcome({ data }: RecordOf<'node.finished'>): boolean {
  return data.retryAt === undefined && data.status !== 'indeterminate';
}

function settle({ machine, active }: PlayedGraph, work: string, status: string): void {
  // A work that was never begun settles in the pass itself.
  if (!active.delete(work)) return;
  endPass(machine);
  machine.send({ type: 'WORK_SETTLED', work, status });
}

/** What is under way then lies in the ledger. */
function pause({ machine, active }: PlayedGraph, reason: PauseReason): void {
  for (const work of active) {
    endPass(machine);
    machine.send({ type: 'WORK_SETTLED', work, status: 'parked' });
  }
  endPass(machine);
  machine.send({ type: 'PAUSED', reason });
}

function close({ machine }: PlayedGraph, status: string, kind = 'failed'): void {
  if (machine.state === 'closing' || machine.finished) return;
  endPass(machine);
  if (status === 'completed') machine.send({ type: 'FINISH' });
  else if (status === 'failed') machine.send({ type: 'FAIL', kind });
  else machine.send({ type: 'STOP' });
}

function endPass(machine: Lifecycle<'graph-supervisor'>): void {
  if (machine.state === 'reconciling') machine.send({ type: 'PASS_DONE' });
}
