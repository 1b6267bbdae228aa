import { defineAgent } from '../../src/agent/define-agent.ts';
import { createProjector } from '../../src/events/event-projector.ts';
import type { RunEvent } from '../../src/events/event-schemas.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import type { ProviderRequest, SwarmWitness, ToolEntry } from './witness.ts';

/** A word that a small swarm was never told. */
export const SECRET = 'sk-never-told';

/** Everything that is to be seen of a small swarm in which nothing goes wrong. */
export async function soundSwarm(): Promise<SwarmWitness> {
  const ledger = memoryLedger();
  const requests: ProviderRequest[] = [];
  const entries: ToolEntry[] = [];
  const runtime = createRuntime({ ledger });
  const run = runtime.run(leadOf(requests, entries), 'Go.');
  let request = '';
  for await (const { type, data } of run.events()) {
    if (type === 'approval.requested') {
      ({ request } = data);
      void run.steer('Look twice.');
    }
    if (type === 'steering.accepted') await runtime.approvals.decide(request, { decision: 'approve' });
  }
  const records = (await ledger.sessions()).map(({ sessionId }) => ledger.read(sessionId));
  const all = (await Promise.all(records)).flat();
  const events = await eventsIn(ledger);
  await runtime.close();
  const child = all.find(({ parent }) => parent !== undefined)?.session ?? '';
  return {
    sessions: Map.groupBy(all, ({ session }) => session),
    storedAt: new Map(all.map(({ id, at }) => [id, at])),
    told: all.map(({ session, seq, hash }) => ({ session, seq, hash })),
    requests: requests.map((one) => ({ ...one, session: one.session === 'lead' ? run.sessionId : child })),
    entries,
    events,
    delivered: events,
    bounds: { depth: 3, fanOut: 8, gated: new Set(['erase']) },
    secrets: [SECRET],
    said: 'ready',
    remains: { open: [], owned: [], queued: 0, exitCodes: [0] },
  };
}

/** An agent that asks a child and a person at once. */
function leadOf(requests: ProviderRequest[], entries: ToolEntry[]) {
  const spy = createToolSpy(({ callId, operationId }) => {
    entries.push({ session: callId.split('.')[0] ?? '', operationId, at: Date.now() });
  });
  const model = scriptedModel({
    script: ({ messages, toolNames }) => {
      const session = toolNames.includes('ask_payer') ? 'lead' : 'payer';
      requests.push({ session, at: Date.now(), messages });
      if (messages.some(({ role }) => role === 'tool')) return reply().text('Done.').usage(20, 2);
      const step = reply().usage(10, 1);
      if (session === 'payer') return step.call('pay', { id: 'a' });
      return step.call('ask_payer', { task: 'Pay.' }).call('erase', { id: 'b' });
    },
  });
  const payer = defineAgent({ name: 'payer', instructions: 'Pay.', model, tools: [spy.tool('pay')] });
  const erase = spy.tool('erase', undefined, { needsApproval: true });
  return defineAgent({ name: 'lead', instructions: 'Let pay.', model, agents: [payer], tools: [erase] });
}

async function eventsIn(ledger: Ledger): Promise<readonly RunEvent[]> {
  const projector = createProjector(ledger);
  const events: RunEvent[] = [];
  const all = ledger.tail(0, new AbortController().signal, { upTo: await ledger.position() });
  for await (const positioned of all) {
    const event = await projector.project(positioned);
    if (event !== undefined) events.push(event);
  }
  return events;
}
