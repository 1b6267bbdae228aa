// What the stand-in of examples/approval.ts says: it notes what it is asked to, and tells what came of it.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';

export function script({ messages, lastText }: ParsedRequest): Reply {
  const isAsked = messages.at(-1)?.role === 'user';
  if (isAsked) return reply().call('add_note', { line: lastText.replace(/^Note that /, '') });
  return reply().text(`The tool said: ${lastText}`);
}
