// What the stand-in of examples/graph-fan-out.ts says, by the agent that asks it.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';

export function script({ model, lastText }: ParsedRequest): Reply {
  if (model === 'surveyor') return reply().text(`The folder ${lastText} is part of the project.`);
  // The editor leaves the first line out each time.
  return reply().text(lastText.split('\n').slice(1).join('\n'));
}
