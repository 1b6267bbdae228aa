import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, defineTool, memoryLedger } from '../../src/index.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import type { ParsedRequest, ScriptedResponse } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { violationsOf } from '../invariants/session.ts';
import { liveEnds, replayedTurn } from '../recovery/fixtures/replayed.ts';
import { ofType } from '../support/run-events.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const OVERFLOW = failure({ kind: 'context-overflow', status: 400 });

const note = defineTool({
  name: 'note',
  description: 'Notes.',
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }) => `noted ${text.length}`,
});

const picture = defineTool({
  name: 'picture',
  description: 'Takes a picture.',
  inputSchema: z.object({}),
  execute: () => ({
    type: 'content',
    parts: [
      { type: 'text', text: 'a picture' },
      { type: 'image', mediaType: 'image/png', source: { type: 'base64', data: 'aaaa' } },
    ],
  }),
});

const hidden = defineTool({
  name: 'deferred_deed',
  description: 'Does a deed.',
  inputSchema: z.object({}),
  defer: 'always',
  execute: () => 'done',
});

const isSummary = ({ system }: ParsedRequest) => system.includes('memory of an assistant');

async function play(
  answer: (request: ParsedRequest, step: number) => ScriptedResponse,
  agentOptions: Partial<AgentDefinition<unknown>> = {},
  onRequest: (run: { stopAfterStep(): void }, step: number) => void = () => undefined,
) {
  let step = -1;
  let started: { stopAfterStep(): void } | undefined;
  const model = scriptedModel({
    script(request) {
      if (isSummary(request)) return reply().text('Summary.').usage(10, 2);
      step += 1;
      if (started !== undefined) onRequest(started, step);
      return answer(request, step);
    },
  });
  const agent = defineAgent({
    name: 'worker',
    instructions: 'Work.',
    model,
    tools: [note, picture, hidden],
    ...agentOptions,
  });
  const ledger = memoryLedger();
  const { runtime, misfits, transitions } = watchedRuntime({ ledger });
  const run = runtime.run(agent, 'Go.');
  started = run;
  const result = await run.result;
  const records = await ledger.read(run.sessionId);
  expect(misfits).toEqual([]);
  expect(violationsOf({ records })).toEqual([]);
  const replayed = replayedTurn(records, `${run.sessionId}.1`);
  expect(replayed.misfits).toEqual([]);
  expect(Object.fromEntries(replayed.states)).toMatchObject(Object.fromEntries(liveEnds(transitions)));
  return { model, result, records, transitions, requests: model.requests.filter((one) => !isSummary(one)) };
}

const long = () => reply().call('note', { text: 'x'.repeat(4_000) });

describe('a request that the provider finds too large', () => {
  it('MA-15 loses the images of earlier results first, and nothing else', async () => {
    const { requests, result, records, model } = await play((_, step) =>
      step < 2 ? reply().call('picture', {}) : step === 2 ? OVERFLOW : reply().text('Done.'),
    );
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', steps: 3 });
    expect(model.requests.some(isSummary)).toBe(false);
    const results = requests[3]?.messages.filter(({ role }) => role === 'tool').map(({ text }) => text);
    expect(results).toEqual(['a picture[image left out to save space]', 'a picture[image]']);
    expect(ofType(records, 'overflow.recovered')[0]?.data.by).toBe('images');
  });

  it('MA-15 is folded where there is no image, and what is sent instead is smaller', async () => {
    const { requests, result, records } = await play((_, step) =>
      step < 4 ? long() : step === 4 ? OVERFLOW : reply().text('Done.'),
    );
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', steps: 5 });
    const [rejected, sent] = requests.slice(4).map(({ request }) => JSON.stringify(request).length);
    expect(sent).toBeLessThan((rejected ?? 0) / 2);
    expect(ofType(records, 'compaction.committed')[0]?.data.trigger).toBe('overflow');
    const prepared = ofType(records, 'request.prepared').slice(-2);
    expect(prepared[1]?.data.tokens).toBeLessThan(prepared[0]?.data.tokens ?? 0);
  });

  it('MA-15 keeps its step: one opening, one end, two attempts', async () => {
    const { records, transitions } = await play((_, step) =>
      step < 4 ? long() : step === 4 ? OVERFLOW : reply().text('Done.'),
    );
    expect(ofType(records, 'step.opened').map(({ data }) => data.index)).toEqual([1, 2, 3, 4, 5]);
    expect(ofType(records, 'step.closed').at(-1)?.data).toMatchObject({ status: 'completed', attempts: 2 });
    expect(transitions.filter(({ to }) => to === 'recovering')).toHaveLength(1);
  });

  it('MA-15 ends the turn the second time', async () => {
    const { requests, result } = await play((_, step) => (step < 4 ? long() : OVERFLOW));
    expect(requests).toHaveLength(6);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'context-overflow' }, steps: 5 });
  });

  it('MA-15 ends the turn in a later step as well', async () => {
    const { result } = await play((_, step) => (step < 4 || step === 5 ? long() : OVERFLOW));
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'context-overflow' }, steps: 6 });
  });

  it('MA-15 ends the turn where something was shown already', async () => {
    const { requests, result } = await play((_, step) =>
      step < 4 ? long() : reply().text('I begin').error({ kind: 'context-overflow' }),
    );
    expect(requests).toHaveLength(5);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'context-overflow' }, text: 'I begin' });
  });

  it('MA-15 ends the turn after a stop at the end of the step', async () => {
    const { requests, result } = await play(
      (_, step) => (step < 4 ? long() : OVERFLOW),
      {},
      (run, step) => step === 4 && run.stopAfterStep(),
    );
    expect(requests).toHaveLength(5);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'context-overflow' } });
  });

  it('MA-15 ends the turn where there is nothing to fold, or nobody may', async () => {
    const first = await play(() => OVERFLOW);
    expect(first.requests).toHaveLength(1);
    expect(first.result).toMatchObject({ status: 'failed', error: { kind: 'context-overflow' } });
    const off = await play((_, step) => (step < 4 ? long() : OVERFLOW), { compaction: false });
    expect(off.requests).toHaveLength(5);
    expect(off.model.requests.some(isSummary)).toBe(false);
  });

  it('TS-08 sends the same tools again, and activates nothing anew', async () => {
    const { requests, records, result } = await play(
      (_, step) =>
        step === 0
          ? reply().call('tool_search', { query: 'deferred_deed' })
          : step < 5
            ? long()
            : step === 5
              ? OVERFLOW
              : reply().call('deferred_deed', {}),
      { limits: { steps: 6 } },
    );
    expect(result.status).toBe('failed');
    expect(requests[6]?.toolNames).toEqual(requests[5]?.toolNames);
    expect(requests[6]?.toolNames).toContain('deferred_deed');
    expect(ofType(records, 'tools.activated')).toHaveLength(1);
    expect(ofType(records, 'tool.settled').at(-1)?.data).toMatchObject({
      toolName: 'deferred_deed',
      status: 'success',
    });
  });
});
