// What the stand-in of examples/handoff.ts says, by the agent that asks it.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';

export function script({ model, messages, lastText }: ParsedRequest): Reply {
  if (messages.at(-1)?.role === 'tool') return reply().text(`Done: ${lastText}.`);
  const order = /[A-Z]-\d+/.exec(lastText)?.[0];
  if (model === 'front-desk') {
    return reply().call('transfer_to_billing', {
      message: order === undefined ? 'Unclear.' : `Refund ${order}.`,
    });
  }
  if (order !== undefined) return reply().call('refund', { order });
  return reply().call('transfer_to_front-desk', { message: 'Not for me.' });
}
