import type { RunEvent } from '../events/event-schemas.ts';
import type { JsonObject, ToolOutput } from '../ledger/content.ts';
import { cutChars } from '../tools/safe-text.ts';
import { outputText } from './output-text.ts';
import type { CallNode, StepNode } from './run-tree.ts';

/** Characters of the arguments that are shown, so that the result has room beside them. */
const MAX_INPUT_CHARS = 60;
/** Characters of a result that can matter for one line. The tree keeps no more, however large results are. */
const MAX_RESULT_CHARS = 400;

type ToolEvent = Extract<RunEvent, { readonly kind: 'tool' }>;
type ApprovalEvent = Extract<RunEvent, { readonly kind: 'approval' }>;

/** The step after an event of one of its calls. */
export function growCall(step: StepNode, event: RunEvent): StepNode {
  if (event.call === undefined || (event.kind !== 'tool' && event.kind !== 'approval')) return step;
  const at = step.calls.findIndex(({ id }) => id === event.call);
  const before = step.calls[at];
  const call = before ?? newCall(event.call, 'toolName' in event.data ? event.data.toolName : 'a call');
  const grown = event.kind === 'tool' ? growByTool(call, event) : growByApproval(call, event);
  const calls = before === undefined ? [...step.calls, grown] : step.calls.with(at, grown);
  return { ...step, calls };
}

function newCall(id: string, toolName: string): CallNode {
  return {
    id,
    toolName,
    state: 'called',
    input: undefined,
    startedAt: undefined,
    durationMs: undefined,
    progress: undefined,
    result: undefined,
    reason: undefined,
  };
}

function growByTool(call: CallNode, event: ToolEvent): CallNode {
  switch (event.type) {
    case 'tool.called':
      return { ...call, toolName: event.data.toolName, input: inputOf(event.data.args) };
    case 'tool.refused': {
      // A denied or expired call is refused too: the person's word says more.
      const isDecided = call.state === 'denied' || call.state === 'expired';
      const { code, text } = event.data;
      return isDecided
        ? call
        : { ...call, state: 'refused', reason: cutChars(text ?? code, MAX_RESULT_CHARS) };
    }
    case 'tool.dispatched':
      return {
        ...call,
        toolName: event.data.toolName,
        state: 'running',
        startedAt: Date.parse(event.ts),
        input: inputOf(event.data.editedArgs) ?? call.input,
      };
    case 'tool.progressed':
      return { ...call, progress: event.data.text };
    case 'tool.settled': {
      const { toolName, status, durationMs, output } = event.data;
      return { ...call, toolName, state: status, durationMs, result: resultOf(output), progress: undefined };
    }
    case 'tool.indeterminate':
      return { ...call, toolName: event.data.toolName, state: 'indeterminate', reason: event.data.reason };
    case 'tool.reconciled':
      return { ...call, reason: `decided: ${event.data.decision}` };
  }
}

function growByApproval(call: CallNode, event: ApprovalEvent): CallNode {
  switch (event.type) {
    case 'approval.requested':
      return { ...call, toolName: event.data.toolName, state: 'waiting' };
    case 'approval.decided': {
      const { decision, reason, editedInput } = event.data;
      if (decision === 'deny') return { ...call, state: 'denied', reason };
      return { ...call, state: 'approved', input: inputOf(editedInput) ?? call.input };
    }
    case 'approval.expired':
      // What a turn takes with it when it ends was not late.
      return {
        ...call,
        state: event.data.cause === 'cancelled' ? 'aborted' : 'expired',
        reason: event.data.reason,
      };
  }
}

function inputOf(args: JsonObject | undefined): string | undefined {
  return args === undefined ? undefined : cutChars(JSON.stringify(args), MAX_INPUT_CHARS);
}

function resultOf(output: ToolOutput | undefined): CallNode['result'] {
  if (output === undefined) return undefined;
  return { text: cutChars(outputText(output), MAX_RESULT_CHARS), isError: output.type === 'error' };
}
