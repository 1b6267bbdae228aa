import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { workOf } from '../../src/graph/turn-work.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';

test('NB-14 a run that comes while its session is taken up in the same worker is run there later', async () => {
  const gate = createGate();
  let isSlow = false;
  const source = {
    name: 'slow',
    revision: 1,
    tools: () => [],
    async settle() {
      if (isSlow) await gate.pass();
    },
  };
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    inputSchema: z.object({}),
    needsApproval: true,
    execute: () => 'paid',
  });
  const model = scriptedModel({
    script: [reply().call('pay', {}), reply().text('one'), reply().text('two')],
  });
  const payer = defineAgent({
    name: 'payer',
    instructions: 'Pay.',
    model,
    tools: [pay],
    toolSources: [source],
  });
  const runtime = createRuntime({ ledger: memoryLedger(), agents: { payer } });
  onTestFinished(() => runtime.close());
  const work = workOf(runtime);
  const place = { session: 's-1', target: 'payer' };
  expect(await work?.run({ ...place, run: 'r-1', input: 'Go.' })).toMatchObject({ type: 'told' });
  const [request] = await runtime.approvals.pending();
  await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
  isSlow = true;
  const taken = work?.takeUp({ session: 's-1', cause: 'decision' });
  await gate.reached;
  const second = work?.run({ ...place, run: 'r-2', input: 'And?' });
  await turnOfLoop();
  gate.open();
  expect(await second).toEqual({ type: 'open', kind: 'session-owned-elsewhere' });
  expect(await taken).toMatchObject({ type: 'told', result: { status: 'completed', text: 'one' } });
  const later = await work?.run({ ...place, run: 'r-2', input: 'And?' });
  expect(later).toMatchObject({ type: 'told', result: { status: 'completed', text: 'two' } });
});
