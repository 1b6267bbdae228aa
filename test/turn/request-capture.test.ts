import { describe, expect, it } from 'vitest';
import { createRuntime, defineAgent, memoryLedger } from '../../src/index.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

async function prepared(captureRequests: boolean) {
  const model = scriptedModel({
    script: [failure({ kind: 'overloaded', retryable: true }), reply().text('Fine.')],
  });
  const agent = defineAgent({ name: 'plain', instructions: 'Be plain.', model });
  const ledger = memoryLedger();
  const limits = { attempts: { baseDelayMs: 0 } };
  const runtime = createRuntime({ ledger, limits, captureRequests });
  const run = runtime.run(agent, 'How are you?');
  expect((await run.result).status).toBe('completed');
  const records = await runtime.sessions.read(run.sessionId);
  return { ledger, runtime, model, facts: records.filter((record) => record.type === 'request.prepared') };
}

describe('the capture of a request', () => {
  it('MA-06 keeps the whole request of each attempt where the runtime is told to', async () => {
    const { ledger, runtime, model, facts } = await prepared(true);
    expect(facts).toHaveLength(2);
    for (const [index, { data }] of facts.entries()) {
      const body = data.body && (await ledger.getArtifact(data.body));
      expect(JSON.parse(Buffer.from(body ?? []).toString('utf8'))).toEqual(model.requests[index]?.request);
    }
    await runtime.close();
  });

  it('MA-06 keeps the hash alone by default', async () => {
    const { runtime, facts } = await prepared(false);
    expect(facts.map(({ data }) => data.body)).toEqual([undefined, undefined]);
    await runtime.close();
  });
});
