import { formatElapsed, formatMs } from './amounts.ts';
import { type Span, type Style, span } from './line.ts';
import { type CallNode, isOpenCall } from './run-tree.ts';
import { spinner, type TreeView, type ViewNode } from './view-node.ts';

/** A call as a node of the view, with the sessions it opened below it. */
export function viewOfCall(call: CallNode, view: TreeView, children: readonly ViewNode[]): ViewNode {
  return {
    head: () => [signOfCall(call, view), span(` ${call.toolName}`, 'accent')],
    facts: () => factsOfCall(call, view),
    children,
  };
}

function factsOfCall(call: CallNode, { glyphs, now }: TreeView): readonly Span[] {
  const { state, durationMs, startedAt, progress, reason, result } = call;
  const elapsed =
    durationMs !== undefined
      ? [span(formatMs(durationMs), 'dim')]
      : state === 'running' && startedAt !== undefined
        ? [span(formatElapsed(now - startedAt), 'dim')]
        : [];
  const said = progress ?? reason ?? result?.text;
  const input = call.input === undefined ? [] : [span(call.input, 'dim')];
  const told = said === undefined ? [] : [span(`${glyphs.arrow} ${said}`, result?.isError ? 'bad' : 'dim')];
  return [
    ...(state === 'success' ? [] : [span(wordOfState(call), styleOfCall(call))]),
    ...elapsed,
    // What moves is looked at first.
    ...(progress === undefined ? [...input, ...told] : [...told, ...input]),
  ];
}

function wordOfState({ state }: CallNode): string {
  if (state === 'waiting') return 'waits for approval';
  return state === 'timeout' ? 'timed out' : state;
}

function signOfCall(call: CallNode, view: TreeView): Span {
  const { glyphs } = view;
  if (call.state === 'running') return spinner(view);
  if (call.state === 'waiting') return span(glyphs.waiting, 'warn');
  if (isOpenCall(call)) return span(glyphs.queued, 'dim');
  const style = styleOfCall(call);
  return span(style === 'good' ? glyphs.done : style === 'bad' ? glyphs.failed : glyphs.stopped, style);
}

function styleOfCall({ state }: CallNode): Style {
  switch (state) {
    case 'success':
      return 'good';
    case 'called':
    case 'approved':
    case 'running':
      return 'dim';
    case 'waiting':
    case 'denied':
    case 'expired':
    case 'aborted':
    case 'interrupted':
    case 'indeterminate':
      return 'warn';
    case 'refused':
    case 'error':
    case 'timeout':
    case 'abandoned':
      return 'bad';
  }
}
