import type { RunEvent } from '../events/event-schemas.ts';
import { type Model, nodeOf, setState, shortName, timeOf } from './node-tree.ts';
import type { ActorNode, Tone } from './nodes.ts';

const SETTLED_TONES: Readonly<Record<string, Tone>> = {
  success: 'good',
  error: 'bad',
  timeout: 'bad',
  aborted: 'stopped',
  abandoned: 'stopped',
  interrupted: 'stopped',
};

/** What an event says of its call. */
export function applyCall(model: Model, event: RunEvent, id: string): void {
  const name = 'toolName' in event.data ? event.data.toolName : 'call';
  const outer = id.includes('::') ? id.slice(0, id.lastIndexOf('::')) : undefined;
  const parent = outer !== undefined && model.nodes.has(outer) ? outer : (event.step ?? event.session);
  const isNew = !model.nodes.has(id);
  const call = nodeOf(model, id, 'call', { event, parent, name });
  if (isNew) setState(call, 'called', 'busy');
  call.events.push(event);
  if (event.kind === 'approval') changeByApproval(call, event);
  else if (event.kind === 'tool') changeByTool(call, event);
}

type ToolEvent = Extract<RunEvent, { readonly kind: 'tool' }>;
type ApprovalEvent = Extract<RunEvent, { readonly kind: 'approval' }>;

function changeByTool(call: ActorNode, event: ToolEvent): void {
  switch (event.type) {
    case 'tool.called':
      noteCalled(call, event.data);
      return;
    case 'tool.refused':
      call.facts.refusal = event.data.code;
      call.reason = event.data.text ?? call.reason ?? event.data.code;
      call.endedAt = timeOf(event);
      // What a person or the clock decided says more than that it was refused.
      if (call.state !== 'denied' && call.state !== 'expired') setState(call, 'refused', 'bad');
      return;
    case 'tool.dispatched':
      call.name = shortName(event.data.toolName);
      call.facts.args = event.data.editedArgs ?? call.facts.args;
      setState(call, 'running', 'busy');
      return;
    case 'tool.progressed':
      call.reason = event.data.text;
      return;
    case 'tool.settled':
      call.endedAt = timeOf(event);
      call.reason = undefined;
      call.facts.result = event.data.output;
      setState(call, event.data.status, SETTLED_TONES[event.data.status] ?? 'stopped');
      return;
    case 'tool.indeterminate':
      call.reason = event.data.reason;
      setState(call, 'indeterminate', 'waiting');
      return;
    case 'tool.reconciled':
      call.reason = `decided: ${event.data.decision}`;
  }
}

function noteCalled(call: ActorNode, data: Extract<RunEvent, { type: 'tool.called' }>['data']): void {
  call.name = shortName(data.toolName);
  if (data.requestedName !== undefined) call.facts.requestedName = data.requestedName;
  call.facts.args = data.args;
  call.reason = data.complaint;
}

function changeByApproval(call: ActorNode, event: ApprovalEvent): void {
  switch (event.type) {
    case 'approval.requested':
      call.facts.request = event.data.request;
      call.reason = event.data.question;
      setState(call, 'waiting', 'waiting');
      return;
    case 'approval.decided':
      call.reason = event.data.reason;
      if (event.data.decision === 'deny') setState(call, 'denied', 'bad');
      else setState(call, 'approved', 'busy');
      return;
    case 'approval.expired':
      call.reason = event.data.reason;
      setState(call, event.data.cause === 'cancelled' ? 'cancelled' : 'expired', 'stopped');
  }
}
