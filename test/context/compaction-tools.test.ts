import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { violationsOf } from '../invariants/session.ts';
import { ofType } from '../support/run-events.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const STEPS = 10;

/** Found by search. Each call has long arguments, which no pruning takes away. */
const note = defineTool({
  name: 'note',
  description: 'Notes.',
  inputSchema: z.object({ text: z.string() }),
  defer: 'always',
  execute: ({ text }) => `noted ${text.length}`,
});

/** A turn that finds its tool, calls it twice a step, and is folded on its way. */
async function play() {
  let step = 0;
  const model = scriptedModel({
    contextWindow: 8_000,
    script({ system }) {
      if (system.includes('memory of an assistant')) return reply().text('Summary.');
      step += 1;
      if (step === 1) return reply().call('tool_search', { query: 'note' });
      if (step > STEPS) return reply().text('Done.');
      const text = `${step}${'x'.repeat(2_000)}`;
      return reply()
        .call('note', { text })
        .call('note', { text: `again ${text}` });
    },
  });
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [note] });
  const { runtime, ledger } = watchedRuntime();
  const run = runtime.run(agent, 'Note a lot.');
  const { status } = await run.result;
  const records = await ledger.read(run.sessionId);
  expect(status).toBe('completed');
  expect(violationsOf({ records })).toEqual([]);
  expect(ofType(records, 'compaction.committed').length).toBeGreaterThanOrEqual(1);
  return { model, records, steps: ofType(records, 'step.opened').map(({ data }) => data) };
}

describe('the tools of a turn that is folded', () => {
  it('TD-03 are in its record those of its last request, and in its first step those of its first', async () => {
    const { records, steps } = await play();
    const last = steps.at(-1);
    expect(steps[0]).toMatchObject({ visible: ['tool_search'], active: [] });
    expect(last?.visible).toEqual(['tool_search', 'read_artifact', 'note']);
    expect(ofType(records, 'turn.closed')[0]?.data.tools).toEqual({
      visible: 3,
      schemaChars: last?.schemaChars,
      toolsHash: last?.toolsHash,
    });
  });

  it('stay active over the fold, though the search that found them is folded', async () => {
    const { model, steps } = await play();
    expect(steps.slice(1).every(({ active }) => active.includes('note'))).toBe(true);
    const last = model.requests.at(-1)?.messages ?? [];
    expect(last.some(({ text }) => text.includes('Summary.'))).toBe(true);
    expect(last.some(({ calls }) => calls.some(({ name }) => name === 'tool_search'))).toBe(false);
  });

  it('T28 have the calls of one step, made at once, in every request with all their results', async () => {
    const { model } = await play();
    // The scripted model refuses what a strict provider would.
    expect(model.requests.flatMap(({ violations }) => violations)).toEqual([]);
    for (const { messages } of model.requests) {
      const called = messages.flatMap(({ calls }) => calls.map(({ id }) => id));
      expect(messages.flatMap(({ callId }) => callId ?? [])).toEqual(called);
    }
  });
});
