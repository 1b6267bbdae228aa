import { type Reply, reply } from '../src/testing/reply.ts';
import type { ParsedRequest } from '../src/testing/script.ts';

/** Steps of the turn. */
export const STEPS = 200;

let step = 0;

/** Calls a tool at each step, the next page each time; what is sent beside them asks for a summary. */
export function script({ toolNames }: ParsedRequest): Reply {
  if (toolNames.length === 0) return reply().text(`Pages up to ${step} were read; nothing is open.`);
  step += 1;
  return step > STEPS ? reply().text('All pages read.') : reply().call('read_page', { page: step });
}
