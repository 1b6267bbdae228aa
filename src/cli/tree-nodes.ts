import { count, formatElapsed, formatMs, formatTokens, formatUsd } from './amounts.ts';
import { viewOfCall } from './call-view.ts';
import { type Span, span } from './line.ts';
import {
  type CallNode,
  isOpenCall,
  type RunTree,
  type SessionNode,
  type StepNode,
  type Totals,
  type TurnNode,
  totalsOfTurn,
} from './run-tree.ts';
import { spinner, type TreeView, type ViewNode } from './view-node.ts';

/** The tree of a run as nodes of the view; undefined while nothing has happened. */
export function viewOfTree(tree: RunTree, view: TreeView): ViewNode | undefined {
  const root = tree.sessions.get(tree.root);
  return root === undefined ? undefined : viewOfSession(tree, root, view);
}

function viewOfSession(tree: RunTree, session: SessionNode, view: TreeView): ViewNode {
  const { turn } = session;
  const children = session.children.flatMap((id) => tree.sessions.get(id) ?? []);
  const viewChild = (child: SessionNode) => viewOfSession(tree, child, view);
  const ofCall = (call: CallNode) => children.filter((child) => child.call === call.id).map(viewChild);
  const loose = children.filter((child) => !hasCall(turn, child.call));
  return {
    head: () => [signOfTurn(session, view), span(` ${session.agent}`, 'bold')],
    facts: () => factsOfSession(session, view),
    children: [
      ...viewOfSteps(turn?.steps ?? [], view, ofCall),
      ...loose.map(viewChild),
      ...viewOfNotes(turn),
    ],
  };
}

function hasCall(turn: TurnNode | undefined, call: string | undefined): boolean {
  return turn?.steps.some((step) => step.calls.some(({ id }) => id === call)) ?? false;
}

function signOfTurn({ turn, lost }: SessionNode, view: TreeView): Span {
  const { glyphs } = view;
  if (lost !== undefined) return span(glyphs.failed, 'bad');
  switch (turn?.state) {
    case undefined:
      return span(glyphs.queued, 'dim');
    case 'running':
      return turn.steps.at(-1)?.calls.some(({ state }) => state === 'waiting')
        ? span(glyphs.waiting, 'warn')
        : spinner(view);
    case 'paused':
      return span(glyphs.waiting, 'warn');
    case 'completed':
    case 'yielded':
    case 'handed-off':
      return span(glyphs.done, 'good');
    case 'failed':
      return span(glyphs.failed, 'bad');
    case 'cancelled':
    case 'interrupted':
      return span(glyphs.stopped, 'warn');
  }
}

function factsOfSession({ turn, lost, earlier }: SessionNode, { now }: TreeView): readonly Span[] {
  if (lost !== undefined) return [span(`lost: ${lost}`, 'bad')];
  if (turn === undefined) return [];
  const words = turn.reason === undefined ? turn.state : `${turn.state}: ${turn.reason}`;
  const isOver = turn.state !== 'running';
  const elapsed =
    turn.endedAt === undefined
      ? formatElapsed(now - turn.startedAt)
      : formatMs(turn.endedAt - turn.startedAt);
  const totals = totalsOfTurn(turn);
  return [
    ...(isOver ? [span(words, turn.state === 'failed' ? 'bad' : 'dim')] : []),
    span(elapsed, 'dim'),
    ...(turn.ordinal > 1 || earlier.steps > 0 ? [span(`turn ${turn.ordinal}`, 'dim')] : []),
    ...cost(totals),
  ];
}

function cost(totals: Totals): readonly Span[] {
  const tokens = formatTokens(totals);
  return [
    ...(tokens === undefined ? [] : [span(tokens, 'dim')]),
    ...(totals.costUsd > 0 ? [span(formatUsd(totals.costUsd), 'dim')] : []),
  ];
}

function viewOfSteps(
  steps: readonly StepNode[],
  view: TreeView,
  ofCall: (call: CallNode) => readonly ViewNode[],
): readonly ViewNode[] {
  const whole = (step: StepNode) => viewOfStep(step, view, ofCall);
  if (view.detail === 'all') return steps.map(whole);
  const isShown = (step: StepNode) => step === steps.at(-1) || step.calls.some(isOpenCall);
  const hidden = steps.filter((step) => !isShown(step));
  const shown = steps.filter(isShown).map(whole);
  if (hidden.length === 0) return shown;
  if (view.detail === 'open') return [summaryOf(hidden, view), ...shown];
  return [...hidden.map((step) => ({ ...whole(step), children: [] })), ...shown];
}

function summaryOf(steps: readonly StepNode[], { glyphs }: TreeView): ViewNode {
  const calls = steps.reduce((sum, step) => sum + step.calls.length, 0);
  return {
    head: () => [span(glyphs.done, 'good'), span(` ${count(steps.length, 'step')}`)],
    facts: () => (calls === 0 ? [] : [span(count(calls, 'call'), 'dim')]),
    children: [],
  };
}

function viewOfStep(
  step: StepNode,
  view: TreeView,
  ofCall: (call: CallNode) => readonly ViewNode[],
): ViewNode {
  return {
    head: () => [signOfStep(step, view), span(` step ${step.index}`)],
    facts: () => factsOfStep(step, view.now),
    children: step.calls.map((call) => viewOfCall(call, view, ofCall(call))),
  };
}

function factsOfStep(step: StepNode, now: number): readonly Span[] {
  const { failure, retry, attempt, state, usage, startedAt, lastFailure } = step;
  return [
    ...(failure === undefined ? [] : [span(failure, 'bad')]),
    ...(retry === undefined ? [] : [span(retry, 'warn')]),
    ...(attempt > 1 ? [span(`attempt ${attempt}`, 'warn')] : []),
    ...(state === 'running' ? [span(formatElapsed(now - startedAt), 'dim')] : []),
    ...(state === 'running' && retry === undefined && lastFailure !== undefined
      ? [span(`after ${lastFailure}`, 'dim')]
      : []),
    ...(usage === undefined ? [] : cost(totalsOfTurn({ steps: [step] }))),
  ];
}

function signOfStep({ state }: StepNode, view: TreeView): Span {
  switch (state) {
    case 'running':
      return spinner(view);
    case 'completed':
      return span(view.glyphs.done, 'good');
    case 'failed':
      return span(view.glyphs.failed, 'bad');
    case 'aborted':
      return span(view.glyphs.stopped, 'warn');
  }
}

function viewOfNotes(turn: TurnNode | undefined): readonly ViewNode[] {
  if (turn === undefined) return [];
  const steering = turn.steering.map(({ text }) => `steering waits: ${text}`);
  return [...turn.notes, ...steering].map((text) => ({
    head: () => [span(text, 'warn')],
    facts: () => [],
    children: [],
  }));
}
