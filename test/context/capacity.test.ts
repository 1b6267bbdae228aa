import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime, DEFAULT_LIMITS, defineAgent, defineTool, memoryLedger } from '../../src/index.ts';
import { reply } from '../../src/testing/reply.ts';
import type { Script } from '../../src/testing/script.ts';
import { type ScriptedModelOptions, scriptedModel } from '../../src/testing/scripted-model.ts';
import { capacityOf, judgeCapacity } from '../../src/turn/capacity.ts';
import { createTokenEstimate, sizeOfMessage } from '../../src/turn/token-estimate.ts';

const say = defineTool({
  name: 'say',
  description: 'Says something long.',
  inputSchema: z.object({ chars: z.int() }),
  execute: ({ chars }) => 'x'.repeat(chars),
});

async function play(script: Script, options: Omit<ScriptedModelOptions, 'script'>, input = 'Go.') {
  const model = scriptedModel({ script, ...options });
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [say] });
  const ledger = memoryLedger();
  await using runtime = createRuntime({ ledger });
  const run = runtime.run(agent, input);
  const result = await run.result;
  return { model, result, records: await ledger.read(run.sessionId) };
}

describe('the room of a model', () => {
  it.each([
    [8_000, 6_000],
    [65_536, 49_152],
    [200_000, 183_616],
  ])('CX-02 a window of %i leaves %i tokens for a prompt', (contextWindow, thresholdTokens) => {
    expect(capacityOf({ contextWindow }, DEFAULT_LIMITS)).toEqual({
      windowTokens: contextWindow,
      thresholdTokens,
    });
  });

  it('judges nothing where the window is not known', () => {
    expect(judgeCapacity(10_000_000, capacityOf({}, DEFAULT_LIMITS))).toBe('fits');
  });

  it.each([
    [6_000, 'fits'],
    [6_001, 'tight'],
    [8_000, 'tight'],
    [8_001, 'over'],
  ] as const)('of 8,000 tokens says of %i: %s', (tokens, verdict) => {
    expect(judgeCapacity(tokens, { windowTokens: 8_000, thresholdTokens: 6_000 })).toBe(verdict);
  });
});

describe('the estimate', () => {
  it('CX-02 is the last report and the signed difference since', () => {
    const estimate = createTokenEstimate();
    expect(estimate.of(1_000)).toBe(1_000);
    estimate.note(1_000, 1_300);
    expect(estimate.of(1_500)).toBe(1_800);
    expect(estimate.of(400)).toBe(700);
  });

  it('takes nothing from a report that is far below what was sent', () => {
    const estimate = createTokenEstimate();
    expect(estimate.note(20_000, 4_000)).toBe(false);
    expect(estimate.of(20_000)).toBe(20_000);
    expect(estimate.note(4_000, 1_000)).toBe(true);
  });

  it('counts an image by what it is, not by its bytes', () => {
    const image = (data: string) =>
      sizeOfMessage(
        {
          role: 'user',
          content: [{ type: 'image', mediaType: 'image/png', source: { type: 'base64', data } }],
        },
        (text) => text.length,
      );
    expect(image('a'.repeat(100_000))).toEqual(image('a'));
  });
});

describe('a turn', () => {
  it('CX-02 ends before it sends what is over the window', async () => {
    const { model, result } = await play([], { contextWindow: 8_000 }, 'x'.repeat(40_000));
    expect(model.requests).toEqual([]);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'context-budget-exhausted' } });
  });

  it('CX-02 counts with the tokenizer of the model', async () => {
    const { result } = await play(
      [reply().text('Read.')],
      {
        contextWindow: 8_000,
        countTokens: (text) => text.length / 8,
      },
      'x'.repeat(40_000),
    );
    expect(result.status).toBe('completed');
  });

  it('CX-02 judges the payload as a gate left it', async () => {
    const model = scriptedModel({ script: [], contextWindow: 8_000 });
    const agent = defineAgent({
      name: 'worker',
      instructions: 'Work.',
      model,
      hooks: { beforeRequest: (subject) => ({ replace: { ...subject, system: 'x'.repeat(40_000) } }) },
    });
    await using runtime = createRuntime();
    expect(await runtime.run(agent, 'Go.').result).toMatchObject({
      status: 'failed',
      error: { kind: 'context-budget-exhausted' },
    });
    expect(model.requests).toEqual([]);
  });

  it('CX-02 follows what the provider reports from request to request', async () => {
    // About 2,500 tokens by characters, which the provider counts three times.
    const { model, result } = await play(
      [reply().call('say', { chars: 100 }).usage(7_950, 5)],
      { contextWindow: 8_000 },
      'x'.repeat(10_000),
    );
    expect(model.requests).toHaveLength(1);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'context-budget-exhausted' } });
  });

  it('CX-02 warns of a provider that cuts the request and says nothing', async () => {
    const { records } = await play(
      [reply().text('Read.').usage(2_048, 5)],
      { contextWindow: 100_000 },
      'x'.repeat(40_000),
    );
    const warned = records.find(({ type }) => type === 'step.warned');
    expect(warned?.data).toMatchObject({ warnings: [expect.stringContaining('2048 tokens')] });
  });
});
