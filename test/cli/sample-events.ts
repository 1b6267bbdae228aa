import { createRuntime, defineAgent, defineTool, memoryLedger, type RunEvent } from 'swarmwright';
import { type Script, scriptedModel } from 'swarmwright/testing';
import { z } from 'zod';
import type { Envelope } from '../../src/events/envelope.ts';
import type { DurableEventType, EventFacts } from '../../src/events/event-data.ts';

const note = defineTool({
  name: 'note',
  description: 'Gives back a text.',
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }, { progress }) => {
    progress(`about ${text}`);
    return text;
  },
});

const remove = defineTool({
  name: 'remove',
  description: 'Removes a file.',
  inputSchema: z.object({ path: z.string() }),
  needsApproval: true,
  execute: ({ path }) => `removed ${path}`,
});

const broken = defineTool({
  name: 'broken',
  description: 'Fails.',
  inputSchema: z.object({}),
  execute: () => Promise.reject(new TypeError('no luck')),
});

/** The events of a real run, with content. Requests whose path begins with `no` are denied, others approved. */
export async function sampleEvents(script: Script): Promise<readonly RunEvent[]> {
  await using runtime = createRuntime({ ledger: memoryLedger() });
  const model = scriptedModel({ script, price: { input: 1_000, output: 2_000 } });
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [note, remove, broken] });
  const run = runtime.run(agent, 'go');
  const events: RunEvent[] = [];
  for await (const event of run.events({ tree: true, content: true })) {
    events.push(event);
    if (event.type !== 'approval.requested') continue;
    const [pending] = await runtime.approvals.pending();
    const isDenied = String(pending?.input['path']).startsWith('no');
    const decision = isDenied
      ? ({ decision: 'deny', reason: 'not that' } as const)
      : ({ decision: 'approve' } as const);
    await runtime.approvals.decide(event.data.request, decision);
  }
  return events;
}

/** An event like `sample` of another type. */
export function eventLike<T extends DurableEventType>(
  sample: Envelope,
  type: T,
  rest: Partial<Envelope> & {
    readonly data: EventFacts<T> & { readonly text?: string; readonly message?: string };
  },
): RunEvent {
  const [kind, name] = type.split('.');
  // Type and data belong together by the signature.
  return { ...sample, type, kind, name, ...rest } as unknown as RunEvent;
}
