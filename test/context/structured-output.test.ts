import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime, defineAgent, defineTool, memoryLedger, openaiCompatible } from '../../src/index.ts';
import { reply } from '../../src/testing/reply.ts';
import type { Script } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';

const verdict = z.object({ verdict: z.enum(['good', 'bad']), score: z.number().int().default(0) });

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  inputSchema: z.object({}),
  execute: () => 'seen',
});

async function play(script: Script, structuredOutput: boolean, limits: { steps?: number } = {}) {
  const model = scriptedModel({ script, capabilities: { structuredOutput } });
  const agent = defineAgent({
    name: 'judge',
    instructions: 'Judge.',
    model,
    tools: [look],
    output: verdict,
    limits,
  });
  const ledger = memoryLedger();
  await using runtime = createRuntime({ ledger });
  const run = runtime.run(agent, 'Is it good?');
  const result = await run.result;
  const records = await ledger.read(run.sessionId);
  model.assertPlayedOut();
  return { model, result, records };
}

const GOOD = '{"verdict":"good"}';

describe('structured output by the provider', () => {
  it('CX-01 sends the schema in every request and parses the answer', async () => {
    const { model, result } = await play([reply().call('look', {}), reply().text(GOOD)], true);
    expect(result).toMatchObject({ status: 'completed', output: { verdict: 'good', score: 0 }, text: GOOD });
    for (const { request } of model.requests) {
      expect(request.responseSchema).toMatchObject({ type: 'object', required: ['verdict'] });
      expect(request.tools.map(({ name }) => name)).toEqual(['look']);
    }
  });

  it('CX-01 reaches the endpoint as a response format', async () => {
    await using server = await scriptedServer({ script: [reply().text(GOOD)] });
    const model = openaiCompatible({
      baseURL: server.baseURL,
      model: 'm',
      capabilities: { structuredOutput: true },
    });
    await using runtime = createRuntime();
    const agent = defineAgent({ name: 'judge', instructions: 'Judge.', model, output: verdict });
    const result = await runtime.run(agent, 'Is it good?').result;
    expect(result).toMatchObject({ status: 'completed', output: { verdict: 'good', score: 0 } });
    expect(server.requests[0]?.body).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { schema: { required: ['verdict'] } } },
    });
  });

  it('CX-01 gives a wrong answer one further step with the words of the validator', async () => {
    const { model, result, records } = await play(
      [reply().text('{"verdict":"perhaps"}'), reply().text(GOOD)],
      true,
    );
    expect(result).toMatchObject({ status: 'completed', output: { verdict: 'good', score: 0 }, steps: 2 });
    expect(model.requests[1]?.lastText).toContain('verdict: expected one of "good", "bad"');
    expect(records.filter(({ type }) => type === 'output.rejected')).toHaveLength(1);
    expect(records.find(({ type }) => type === 'turn.closed')?.data).toMatchObject({
      output: { verdict: 'good' },
    });
  });

  it('CX-01 fails typed when the second answer is wrong too', async () => {
    const { result } = await play([reply().text('Good, I think.'), reply().text('{}')], true);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'output-invalid' }, steps: 2 });
    if (result.status === 'failed') expect(result.error.message).toContain('verdict');
  });

  it('takes an answer that is fenced', async () => {
    const { result } = await play([reply().text(`\`\`\`json\n${GOOD}\n\`\`\``)], true);
    expect(result).toMatchObject({ status: 'completed', output: { verdict: 'good', score: 0 } });
  });
});

describe('structured output by a tool', () => {
  it('CX-01 projects submit_output last and ends with its arguments', async () => {
    const { model, result } = await play(
      [reply().call('look', {}), reply().call('submit_output', { verdict: 'bad', score: 2 })],
      false,
    );
    expect(result).toMatchObject({
      status: 'completed',
      output: { verdict: 'bad', score: 2 },
      stopReason: 'end-turn',
      steps: 2,
    });
    expect(model.requests.map(({ toolNames }) => toolNames)).toEqual([
      ['look', 'submit_output'],
      ['look', 'submit_output'],
    ]);
    expect(model.requests[0]?.request.responseSchema).toBeUndefined();
    expect(model.requests[0]?.toolChoice).toBe('auto');
  });

  it('CX-01 answers wrong arguments with a paired error and one further step', async () => {
    const { model, result } = await play(
      [
        reply().call('submit_output', { verdict: 'perhaps' }),
        reply().call('submit_output', { verdict: 'good' }),
      ],
      false,
    );
    expect(result).toMatchObject({ status: 'completed', output: { verdict: 'good', score: 0 } });
    expect(model.requests[1]?.lastText).toContain('expected one of "good", "bad"');
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(model.requests[1]?.toolChoice).toBe('submit_output');
  });

  it('CX-01 fails typed after two wrong submissions', async () => {
    const wrong = reply().call('submit_output', { verdict: 'perhaps' });
    const { result } = await play([wrong, wrong], false);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'output-invalid' }, steps: 2 });
  });

  it('asks once for the call when the model only talks', async () => {
    const { model, result } = await play(
      [reply().text('It is good.'), reply().call('submit_output', { verdict: 'good' })],
      false,
    );
    expect(result).toMatchObject({ status: 'completed', output: { verdict: 'good', score: 0 } });
    expect(model.requests[1]?.lastText).toContain('calling submit_output');
    expect(model.requests[1]?.toolChoice).toBe('submit_output');
  });

  it('holds the model to the tool at the last allowed step', async () => {
    const { model, result } = await play(
      [reply().call('look', {}), reply().call('submit_output', { verdict: 'good' })],
      false,
      { steps: 2 },
    );
    expect(result.status).toBe('completed');
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'submit_output']);
  });

  it('wraps an output that is no object', async () => {
    const model = scriptedModel({ script: [reply().call('submit_output', { output: ['a', 'b'] })] });
    const agent = defineAgent({
      name: 'lister',
      instructions: 'List.',
      model,
      output: z.array(z.string()).transform((names) => names.length),
    });
    await using runtime = createRuntime();
    const result = await runtime.run(agent, 'List.').result;
    expect(result).toMatchObject({ status: 'completed', output: 2 });
  });
});

describe('a turn whose agent has an output', () => {
  it('never completes without one', async () => {
    const model = scriptedModel({ script: [reply().call('look', {})] });
    const agent = defineAgent({ name: 'judge', instructions: '', model, tools: [look], output: verdict });
    await using runtime = createRuntime();
    const run = runtime.run(agent, 'Is it good?');
    run.stopAfterStep();
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'output-invalid' } });
  });

  it('shows the output to the gate before its end', async () => {
    const seen: unknown[] = [];
    const model = scriptedModel({ script: [reply().call('submit_output', { verdict: 'good' })] });
    const agent = defineAgent({
      name: 'judge',
      instructions: '',
      model,
      output: verdict,
      hooks: { beforeComplete: ({ output }) => void seen.push(output) },
    });
    await using runtime = createRuntime();
    await runtime.run(agent, 'Is it good?').result;
    expect(seen).toEqual([{ verdict: 'good' }]);
  });

  it('is refused where its model takes neither a schema nor tools', () => {
    const model = scriptedModel({ script: [], capabilities: { tools: false } });
    expect(() => defineAgent({ name: 'judge', instructions: '', model, output: verdict })).toThrow(
      expect.objectContaining({ code: 'invalid-definition' }),
    );
  });
});
