import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createRuntime,
  defineAgent,
  defineTool,
  type ModelCapabilities,
  memoryLedger,
} from '../../src/index.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { ofType } from '../support/run-events.ts';

const look = defineTool({ name: 'look', description: '', inputSchema: z.object({}), execute: () => 'seen' });

/** A turn of one step for each count of tokens read from the cache, of 3,000 that were sent. */
async function play(reads: readonly number[], capabilities: ModelCapabilities = {}) {
  const script = reads.map((cacheRead, at) =>
    (at < reads.length - 1 ? reply().call('look', {}) : reply().text('Done.')).usage(3_000, 5, { cacheRead }),
  );
  const model = scriptedModel({ script, capabilities });
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [look] });
  const ledger = memoryLedger();
  await using runtime = createRuntime({ ledger });
  const run = runtime.run(agent, 'Go.');
  await run.result;
  const events: string[] = [];
  for await (const event of run.events()) events.push(event.type);
  return { records: await ledger.read(run.sessionId), events };
}

describe('the prompt cache', () => {
  it('is counted in every step, with the hashes of what it depends on', async () => {
    const { records } = await play([0, 2_900]);
    expect(ofType(records, 'step.closed').map(({ data }) => data.usage?.cacheReadTokens)).toEqual([0, 2_900]);
    const [first, second] = ofType(records, 'request.prepared').map(({ data }) => data);
    expect([second?.toolsHash, second?.systemHash]).toEqual([first?.toolsHash, first?.systemHash]);
  });

  it('that is not found where it should be is a fact and an event', async () => {
    const { records, events } = await play([0, 2_900, 100, 2_900]);
    expect(
      ofType(records, 'step.cache-broken').map(({ step, data }) => [step?.endsWith('.3'), data]),
    ).toEqual([[true, { previousInputTokens: 3_000, cacheReadTokens: 100, systemChanged: false }]]);
    expect(events.filter((type) => type === 'step.cache-broken')).toHaveLength(1);
  });

  it('of a provider that has none is never broken', async () => {
    const { records } = await play([0, 0, 0]);
    expect(ofType(records, 'step.cache-broken')).toEqual([]);
  });

  it('of a model that says it has one is missed from the second request on', async () => {
    const { records } = await play([0, 0, 2_900], { promptCache: true });
    expect(ofType(records, 'step.cache-broken')).toHaveLength(1);
  });
});
