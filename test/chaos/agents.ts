import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent, defineTool, openaiCompatible } from '../../src/index.ts';
import { openLines } from '../support/durable-lines.ts';
import type { SpyLine } from './tasks.ts';

/** What the agents act on. */
export interface World {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly spyPath: string;
}

/** The agents of a schedule, as every process defines them: a lead with tools of its own, which asks payers. */
export function agentsOf({ baseURL, apiKey, spyPath }: World) {
  const model = openaiCompatible({ baseURL, apiKey, model: 'scripted' });
  const spy = openLines<SpyLine>(spyPath);
  const tool = (name: string, takesMs: number, options: { readonly needsApproval?: boolean } = {}) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      inputSchema: z.object({ id: z.string() }),
      ...options,
      async execute({ id }, { sessionId, operationId, signal }) {
        const note = (what: 'entered' | 'left') =>
          spy.note({ what, session: sessionId, operationId, toolName: name, at: Date.now() });
        note('entered');
        await wait(takesMs, undefined, { signal }).catch(() => undefined);
        note('left');
        return `${name} ${id}`;
      },
    });
  const pay = tool('pay', 20);
  const count = tool('count', 150);
  const payer = defineAgent({
    name: 'payer',
    description: 'Pays.',
    instructions: 'Pay.',
    model,
    tools: [pay, count],
  });
  const lead = defineAgent({
    name: 'lead',
    instructions: 'Let others pay.',
    model,
    tools: [pay, count, tool('slow', 1_500), tool('erase', 20, { needsApproval: true })],
    agents: [payer],
  });
  return { lead, payer };
}
