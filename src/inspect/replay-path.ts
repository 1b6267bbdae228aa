import type { AgentEvent } from '../../machines/agent.ts';
import type { MachineKind, MachineSet } from '../../machines/machine-kind.ts';
import { systemClock } from '../clock.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { replayTurn } from '../ledger/replay.ts';
import type { LifecycleHost, StartOptions } from '../lifecycle/lifecycle.ts';
import { createLifecycleHost } from '../lifecycle/lifecycle-host.ts';
import type { TransitionRecord } from '../lifecycle/transition-record.ts';

/**
 * The transitions of one machine that the facts of its session tell of: the way of a finished run, or of an earlier
 * moment of any. `records` are those of the session up to that moment. Empty for an instance they do not know.
 *
 * Facts are fewer than transitions, so the path may be shorter than the one that was taken; it ends in the same state.
 */
export function replayPath(
  id: string,
  records: readonly LedgerRecord[],
  machines?: Partial<MachineSet>,
): readonly TransitionRecord[] {
  const path: TransitionRecord[] = [];
  const host = createLifecycleHost({
    clock: systemClock,
    ...(machines === undefined ? {} : { machines }),
    observe: (record) => path.push(record),
  });
  start(host, id, records);
  host.stopAll();
  return path;
}

/** The kind of machine that an id names: ids of turns, steps and calls each hold that of what they are part of. */
export function kindOfId(id: string): MachineKind {
  const [outer = ''] = id.split(/::|#/);
  const parts = outer.split('.').length;
  if (parts === 1) return 'agent';
  if (parts === 2) return 'turn';
  return parts === 3 && !id.includes('::') ? 'step' : 'tool-call';
}

function start(host: LifecycleHost, id: string, records: readonly LedgerRecord[]): void {
  const [first] = records;
  if (first === undefined) return;
  const session = first.session;
  const place = { id, rootId: first.root, session };
  const turnId = id.split('.').slice(0, 2).join('.');
  switch (kindOfId(id)) {
    case 'agent':
      host.start('agent', { ...place, input: agentInput(id), replay: agentEvents(records) });
      return;
    case 'turn':
      if (records.some((record) => record.turn === turnId)) startTurn(host, place, records);
      return;
    case 'step': {
      const replay = replayTurn(records, turnId).steps.get(id);
      if (replay !== undefined) host.start('step', { ...place, input: stepInput(id), replay });
      return;
    }
    default: {
      const replay = replayTurn(records, turnId).calls.get(id);
      if (replay !== undefined) {
        host.start('tool-call', { ...place, input: callInput(id, records), replay });
      }
    }
  }
}

type Place = Pick<StartOptions<'turn'>, 'id' | 'rootId' | 'session'>;

function startTurn(host: LifecycleHost, place: Place, records: readonly LedgerRecord[]): void {
  const input = { turnId: place.id, agentId: place.session, maxSteps: Number.POSITIVE_INFINITY };
  host.start('turn', { ...place, input, replay: replayTurn(records, place.id).turn });
}

function agentInput(id: string) {
  return { agentId: id, maxRestarts: Number.POSITIVE_INFINITY };
}

function stepInput(stepId: string) {
  return {
    stepId,
    index: Number(stepId.slice(stepId.lastIndexOf('.') + 1)) || 1,
    visibleCount: 0,
    // What was retried is in the facts; nothing is decided here.
    maxAttempts: Number.POSITIVE_INFINITY,
    maxIdleRetries: Number.POSITIVE_INFINITY,
    maxTruncatedRetries: Number.POSITIVE_INFINITY,
    attemptsBefore: 0,
  };
}

function callInput(id: string, records: readonly LedgerRecord[]) {
  const [callId = id] = id.split('#');
  const called = records.find((record) => record.type === 'tool.called' && record.call === callId);
  const name = called?.type === 'tool.called' ? (called.data.requestedName ?? called.data.toolName) : 'tool';
  return {
    callId,
    stepId: called?.step ?? callId,
    toolName: name,
    origin: 'model' as const,
    recovery: 'never_auto_retry' as const,
  };
}

/** The actor of a session leaves no facts of its own: its turns and children are what moves it. */
function agentEvents(records: readonly LedgerRecord[]): readonly AgentEvent[] {
  let isRunning = false;
  return records.flatMap((record): readonly AgentEvent[] => {
    switch (record.type) {
      case 'turn.opened':
      case 'turn.resumed': {
        if (isRunning) return [];
        isRunning = true;
        return [{ type: 'MESSAGE' }];
      }
      case 'turn.closed':
        isRunning = false;
        return [turnEnd(record.data.status)];
      case 'child.started':
        return [{ type: 'CHILD_STARTED', childId: record.data.child }];
      case 'child.finished':
        return [{ type: 'CHILD_DONE', childId: record.data.child, status: record.data.status }];
      case 'child.lost':
        return [{ type: 'CHILD_DONE', childId: record.data.child, status: 'lost' }];
      case 'steering.accepted':
        return isRunning ? [{ type: 'STEER' }] : [];
      default:
        return [];
    }
  });
}

function turnEnd(status: string): AgentEvent {
  return status === 'yielded' ? { type: 'TURN_YIELDED' } : { type: 'TURN_DONE', status };
}
