import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime, defineAgent, defineTool, memoryLedger } from '../../src/index.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ParsedRequest, ScriptedResponse } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const LINE = 'zähle 🧮 ';

/** Text of 12,000 characters in which every place is different. */
function textOf(id: string): string {
  let text = '';
  for (let at = 0; text.length < 12_000; at += 1) text += `${id}${at}${LINE}`;
  return text.slice(0, 12_000);
}

const fetch = defineTool({
  name: 'fetch',
  description: 'Fetches.',
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }) => textOf(id),
});

async function play(script: (request: ParsedRequest, index: number) => ScriptedResponse) {
  const model = scriptedModel({ script, contextWindow: 16_000 });
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [fetch] });
  const ledger = memoryLedger();
  await using runtime = createRuntime({ ledger });
  const run = runtime.run(agent, 'Go.');
  return { model, result: await run.result, records: await ledger.read(run.sessionId) };
}

const FETCHES = ['a', 'b', 'c'];

describe('results that were left out', () => {
  it('CX-03 are read back whole, page by page', async () => {
    let read = '';
    let offset = 0;
    const { model, result } = await play((request, index) => {
      const id = FETCHES[index];
      if (id !== undefined) return reply().call('fetch', { id });
      if (index > FETCHES.length) {
        const [, page = '', next] =
          /^(.*)\n\[Characters \d+ to \d+ of 12000(?:; go on with offset (\d+))?\.\]$/su.exec(
            request.lastText,
          ) ?? ['', ''];
        read += page;
        if (next === undefined) return reply().text('Read.');
        offset = Number(next);
      }
      return reply().call('read_artifact', { id: '1.1.0', offset, limit: 5_001 });
    });
    expect(result.status).toBe('completed');
    expect(read).toBe(textOf('a'));
    expect(model.requests[2]?.toolNames).toEqual(['fetch']);
    expect(model.requests[3]?.toolNames).toEqual(['fetch', 'read_artifact']);
    expect(model.requests[3]?.messages[2]?.text).toContain('read_artifact with {"id":"1.1.0"}');
  });

  it('CX-03 give 4,000 characters by default and never more than 6,000', async () => {
    const pages: string[] = [];
    await play((request, index) => {
      const id = FETCHES[index];
      if (id !== undefined) return reply().call('fetch', { id });
      if (index > 3) pages.push(request.lastText);
      if (index === 3) return reply().call('read_artifact', { id: '1.1.0' });
      if (index === 4) return reply().call('read_artifact', { id: '1.1.0', limit: 50_000 });
      return reply().text('Read.');
    });
    expect(pages[0]).toContain('[Characters 0 to 4000 of 12000; go on with offset 4000.]');
    expect(pages[1]).toContain('[Characters 0 to 6000 of 12000; go on with offset 6000.]');
  });

  it.each([
    ['an id that the session has not', { id: '9.9.9' }, 'no result with the id'],
    ['an offset behind the end', { id: '1.1.0', offset: 12_000 }, 'nothing at 12000'],
  ])('answer %s with an error', async (_, args, text) => {
    const { model } = await play((__, index) => {
      const id = FETCHES[index];
      if (id !== undefined) return reply().call('fetch', { id });
      return index === 3 ? reply().call('read_artifact', args) : reply().text('Read.');
    });
    expect(model.requests[4]?.lastText).toContain(text);
  });

  it('extend the request before them but in the step that leaves out more', async () => {
    const { model } = await play((_, index) =>
      index < 12 ? reply().call('fetch', { id: `n${index}` }) : reply().text('Done.'),
    );
    const sent = model.requests.map(({ messages }) => messages.map(({ text }) => text));
    const kept = sent.slice(1).filter((messages, at) => {
      const before = sent[at] ?? [];
      return before.every((text, index) => messages[index] === text);
    });
    // Half of the room is freed at once, so most requests only grow.
    expect(kept.length).toBeGreaterThanOrEqual(5);
    expect(kept.length).toBeLessThan(sent.length - 1);
  });

  it('show nothing that a tool hides from its model', async () => {
    const secret = defineTool({
      name: 'secret',
      description: 'Has a secret.',
      inputSchema: z.object({ id: z.string() }),
      execute: () => ({ password: 'hunter2', text: 'y'.repeat(12_000) }),
      toModelOutput: ({ text }: { text: string }) => text,
    });
    const model = scriptedModel({
      contextWindow: 16_000,
      script: (_, index) =>
        index < 3
          ? reply().call('secret', { id: `${index}` })
          : index === 3
            ? reply().call('read_artifact', { id: '1.1.0' })
            : reply().text('Read.'),
    });
    const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [secret] });
    await using runtime = createRuntime();
    await runtime.run(agent, 'Go.').result;
    expect(model.requests[4]?.lastText).toContain('yyyy');
    expect(JSON.stringify(model.requests)).not.toContain('hunter2');
  });
});
