import { describe, expect, it } from 'vitest';
import { transition } from 'xstate';
import { type AgentEvent, agentMachine } from '../../machines/agent.ts';
import { configOf, type DeclaredEdge, declaredEdges, isFinal } from './declared.ts';
import { canReach, type Edge, explore, type Node } from './explore.ts';
import {
  agentSample,
  graphSupervisorSample,
  samples,
  stepSample,
  toolCallSample,
  turnSample,
} from './samples.ts';

const explorations = samples.map((sample) => ({
  kind: sample.kind,
  stop: sample.stop,
  config: configOf(sample.kind),
  exploration: explore(sample),
}));

const written = (edge: { from: string; event: string; to: string }) =>
  `${edge.from} ${edge.event} ${edge.to}`;
const distinct = (lines: readonly string[]) => [...new Set(lines)].sort();
const keys = (nodes: readonly Node[]) => nodes.map((node) => node.key);
const taken = (edges: readonly Edge[]) =>
  distinct(edges.map(({ from, event, to }) => written({ from, event: event.type, to })));

describe.each(explorations)('the $kind machine', ({ kind, stop, config, exploration }) => {
  const { nodes, edges } = exploration;
  const final = (state: string) => isFinal(config, state);

  it('can be in every state it has', () => {
    expect(distinct(nodes.map((node) => node.state))).toEqual(Object.keys(config.states).sort());
  });

  it('takes every declared edge and no other', () => {
    const declared = declaredEdges(kind);
    expect(taken(edges)).toEqual(distinct(declared.map(written)));
  });

  it('takes each guarded way and the way around it', () => {
    const choices = Map.groupBy(declaredEdges(kind), (edge: DeclaredEdge) => `${edge.from} ${edge.event}`);
    for (const [choice, ways] of choices) {
      const targets = new Set(edges.filter((e) => `${e.from} ${e.event.type}` === choice).map((e) => e.to));
      expect([...targets].sort(), choice).toEqual(distinct(ways.map((way) => way.to)));
    }
  });

  it('reaches an end from every situation', () => {
    const reaching = canReach(exploration, (node) => final(node.state));
    expect(keys(nodes.filter((node) => !reaching.has(node.key)))).toEqual([]);
  });

  it('is done in its final states and in no other', () => {
    expect(keys(nodes.filter((node) => final(node.state) !== (node.snapshot.status === 'done')))).toEqual([]);
  });

  it('accepts a stop in every situation that is not final', () => {
    const stopping = new Set(edges.filter((edge) => edge.event.type === stop).map((edge) => edge.before.key));
    expect(keys(nodes.filter((node) => !final(node.state) && !stopping.has(node.key)))).toEqual([]);
  });

  it('is sampled with every event it knows', () => {
    const known = distinct(declaredEdges(kind).map((edge) => edge.event));
    const sampled = samples.find((sample) => sample.kind === kind)?.events.map((event) => event.type) ?? [];
    expect(distinct(sampled)).toEqual(known);
  });
});

describe('the turn machine', () => {
  const { nodes, edges } = explore(turnSample);

  it('counts a step on only by OPENED, CONTINUE, and a resume before either', () => {
    const counting = edges.filter(
      (e) => e.after.snapshot.context.stepIndex > e.before.snapshot.context.stepIndex,
    );
    expect(distinct(counting.map((e) => `${e.from} ${e.event.type}`))).toEqual([
      'deciding CONTINUE',
      'opening OPENED',
      'paused RESUMED',
    ]);
    const resumed = counting.filter((e) => e.event.type === 'RESUMED');
    expect(resumed.every((e) => e.before.snapshot.context.stepIndex === 0)).toBe(true);
  });

  it('keeps parked calls a part of the pending ones', () => {
    const over = nodes.filter(({ snapshot: { context } }) => context.parkedCount > context.pendingCalls);
    expect(keys(over)).toEqual([]);
  });

  it('waits for approval exactly while a call is parked', () => {
    const settling = nodes.filter((node) => ['settling', 'waitingForApproval'].includes(node.state));
    for (const { state, snapshot } of settling) {
      expect(snapshot.context.parkedCount > 0).toBe(state === 'waitingForApproval');
      expect(snapshot.context.pendingCalls).toBeGreaterThan(0);
    }
  });

  it('decides and ends well only when no call is pending', () => {
    const settled = nodes.filter((node) =>
      ['deciding', 'completed', 'yielded', 'handedOff'].includes(node.state),
    );
    expect(keys(settled.filter(({ snapshot }) => snapshot.context.pendingCalls > 0))).toEqual([]);
  });

  it('leaves closing only by CLOSED', () => {
    const leaving = edges.filter((edge) => edge.from === 'closing' && edge.to !== 'closing');
    expect(taken(leaving)).toEqual(
      ['closing CLOSED cancelled', 'closing CLOSED failed', 'closing CLOSED interrupted'].sort(),
    );
  });

  it('only ever raises the reason it closes for', () => {
    const rank = ['failed', 'interrupted', 'cancelled'];
    for (const { before, after, from } of edges) {
      if (from !== 'closing') continue;
      const was = rank.indexOf(before.snapshot.context.closeReason);
      expect(rank.indexOf(after.snapshot.context.closeReason)).toBeGreaterThanOrEqual(was);
    }
  });

  it('ends in the state its reason names', () => {
    for (const { before, to, event } of edges) {
      if (event.type === 'CLOSED') expect(before.snapshot.context.closeReason).toBe(to);
    }
  });

  it('recovers from an overflow once, before any output, and never after a stop was asked for', () => {
    const recovering = edges.filter(
      (edge) => edge.to === 'recovering' && edge.event.type === 'STEP_OVERFLOW',
    );
    expect(recovering.length).toBeGreaterThan(0);
    for (const { before, event } of recovering) {
      expect(before.snapshot.context).toMatchObject({ overflowUsed: false, stopAfterStep: false });
      expect(event).toMatchObject({ emitted: false });
    }
  });

  it('takes no further step after a stop was asked for', () => {
    const steps = edges.filter((edge) => edge.event.type === 'CONTINUE' && edge.to === 'projecting');
    expect(steps.length).toBeGreaterThan(0);
    expect(taken(steps.filter(({ before }) => before.snapshot.context.stopAfterStep))).toEqual([]);
  });

  it.each(['CANCEL', 'INTERRUPT', 'COMMIT_FAILED', 'BUDGET_EXHAUSTED', 'STOP_AFTER_STEP'])(
    'accepts %s in every state that is not final',
    (type) => {
      const accepting = new Set(
        edges.filter((edge) => edge.event.type === type).map((edge) => edge.before.key),
      );
      expect(keys(nodes.filter((n) => n.snapshot.status === 'active' && !accepting.has(n.key)))).toEqual([]);
    },
  );
});

describe('the step machine', () => {
  const { nodes, edges } = explore(stepSample);

  it('never aborts out of a request that is out, without settling what it brought', () => {
    const from = edges.filter((edge) => edge.to === 'aborted').map((edge) => edge.from);
    expect(distinct(from)).toEqual(['backingOff', 'capturing', 'settlingOutcome']);
  });

  it('never retries after output, nor after thinking unless the stream fell silent', () => {
    const retries = edges.filter((edge) => edge.to === 'backingOff');
    const seen = retries.map(({ before, event }) => [
      before.snapshot.context.emitted,
      Reflect.get(event, 'cause'),
    ]);
    expect(distinct(seen.map((pair) => pair.join(' ')))).toEqual(
      ['nothing failure', 'nothing idle', 'nothing truncated', 'thinking idle'].sort(),
    );
  });

  it('never makes more attempts than it may', () => {
    const retries = edges.filter((edge) => edge.to === 'backingOff');
    expect(retries.length).toBeGreaterThan(0);
    const over = retries.filter(
      ({ before: { snapshot } }) => snapshot.context.attempt >= snapshot.context.maxAttempts,
    );
    expect(taken(over)).toEqual([]);
  });

  it('begins each attempt with nothing emitted', () => {
    const begun = nodes.filter((node) => ['capturing', 'dispatching'].includes(node.state));
    expect(keys(begun.filter((node) => node.snapshot.context.emitted !== 'nothing'))).toEqual([]);
  });

  it('captures a request before each attempt', () => {
    expect(distinct(edges.filter((edge) => edge.to === 'dispatching').map((edge) => edge.from))).toEqual([
      'capturing',
    ]);
  });

  it('fails on a lost fact in every state that is not final', () => {
    const failing = edges.filter((edge) => edge.event.type === 'COMMIT_FAILED');
    expect(distinct(failing.map((edge) => edge.to))).toEqual(['failed']);
    const before = new Set(failing.map((edge) => edge.before.key));
    expect(keys(nodes.filter((n) => n.snapshot.status === 'active' && !before.has(n.key)))).toEqual([]);
  });
});

describe('the tool-call machine', () => {
  const exploration = explore(toolCallSample);
  const { nodes, edges } = exploration;

  it('enters the implementation once, and again only out of suspension', () => {
    expect(taken(edges.filter((edge) => edge.to === 'executing' && edge.from !== 'executing'))).toEqual([
      'prepared EXECUTE executing',
      'suspended RESUMED executing',
    ]);
    const withoutResume = edges.filter((edge) => edge.from !== 'suspended' || edge.to !== 'executing');
    const back = canReach(
      { nodes, edges: withoutResume },
      (node) => node.state === 'prepared' || node.state === 'preparing',
    );
    const after = ['executing', 'suspended', 'aborting', 'committing'];
    expect(keys(nodes.filter((node) => after.includes(node.state) && back.has(node.key)))).toEqual([]);
  });

  it('says it may have acted on the world exactly from execution until the outcome is durable', () => {
    const acting = nodes.filter((node) => node.snapshot.hasTag('sideEffectPossible'));
    expect(distinct(acting.map((node) => node.state))).toEqual(
      ['aborting', 'committing', 'executing', 'indeterminate', 'suspended'].sort(),
    );
  });

  it('is never turned away once its intent is durable', () => {
    const before = edges.filter((edge) => edge.to === 'rejected' || edge.to === 'commitError');
    expect(taken(before.filter((edge) => edge.before.snapshot.context.operationId !== null))).toEqual([]);
  });

  it('is indeterminate only once its intent is durable', () => {
    const lost = edges.filter((edge) => edge.to === 'indeterminate');
    expect(taken(lost.filter((edge) => edge.before.snapshot.context.operationId === null))).toEqual([]);
  });

  it('has an outcome whenever it commits', () => {
    const committing = nodes.filter((node) => node.state === 'committing');
    expect(keys(committing.filter((node) => node.snapshot.context.outcome === null))).toEqual([]);
  });
});

describe('the agent machine', () => {
  const { edges } = explore(agentSample);

  it('starts a turn from rest by a message, a wake, the last child or a wait that ran out', () => {
    const starting = edges.filter((edge) => edge.to === 'running' && ['idle', 'waiting'].includes(edge.from));
    expect(distinct(starting.map((edge) => edge.event.type))).toEqual([
      'CHILD_DONE',
      'MESSAGE',
      'WAIT_EXPIRED',
      'WAKE',
    ]);
    for (const { event, before } of starting) {
      if (event.type !== 'CHILD_DONE') continue;
      expect(before.snapshot.context).toMatchObject({ graph: 'none', openChildren: 1 });
    }
  });

  it('counts children in every live state', () => {
    const counting = (type: string) =>
      distinct(edges.filter((edge) => edge.event.type === type).map((edge) => edge.from));
    const live = ['faulted', 'idle', 'running', 'stopping', 'waiting'];
    expect(counting('CHILD_STARTED')).toEqual(live);
    expect(counting('CHILD_DONE')).toEqual(live);
  });

  it('counts a turn whenever one starts, and never else', () => {
    for (const { from, event, to, before } of edges) {
      const next = ['TURN_DONE', 'TURN_YIELDED'].includes(event.type) && to === 'running';
      const starts = next || (from !== 'running' && to === 'running');
      // The node an edge leads to stands for all situations alike; its counter may be that of another way.
      const [after] = transition(agentMachine, before.snapshot, event as AgentEvent);
      const counted = after.context.turns - before.snapshot.context.turns;
      expect(counted, `${before.key} ${event.type}`).toBe(starts ? 1 : 0);
    }
  });
});

describe('the graph-supervisor machine', () => {
  const { nodes, edges } = explore(graphSupervisorSample);

  it('rests only where nothing runs that waits for nobody', () => {
    const resting = edges.filter((edge) => edge.event.type === 'PASS_DONE' && edge.to === 'waiting');
    expect(resting.length).toBeGreaterThan(0);
    for (const { before } of resting) {
      const { runningWorks, parkedWorks } = before.snapshot.context;
      expect(runningWorks).toBe(parkedWorks);
    }
  });

  it('keeps parked works a part of those under way', () => {
    const over = nodes.filter(({ snapshot: { context } }) => context.parkedWorks > context.runningWorks);
    expect(keys(over)).toEqual([]);
  });

  it('ends only out of closing, once its end is durable, as its strongest reason says', () => {
    const ending = edges.filter((edge) => ['completed', 'failed', 'stopped'].includes(edge.to));
    expect(distinct(ending.map((edge) => `${edge.from} ${edge.event.type}`))).toEqual(['closing CLOSED']);
    for (const { before, to } of ending) {
      const reason = before.snapshot.context.closeReason;
      expect(reason).toBe(to === 'completed' ? 'finished' : to);
    }
  });

  it('looks at the schedule again after every update and every settled work', () => {
    const changes = edges.filter(
      ({ event, from }) => ['UPDATED', 'WORK_SETTLED'].includes(event.type) && from !== 'closing',
    );
    expect(distinct(changes.map((edge) => edge.to))).toEqual(['reconciling']);
  });

  it('admits nothing new while it closes', () => {
    const leaving = edges.filter((edge) => edge.from === 'closing' && edge.to === 'reconciling');
    expect(leaving).toEqual([]);
  });
});
