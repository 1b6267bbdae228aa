import { describe, expect, it } from 'vitest';
import { type Reply, reply } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { violationsOf } from '../invariants/session.ts';
import { ofType } from '../support/run-events.ts';
import { servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

async function play(script: readonly ScriptedResponse[]) {
  const spy = createToolSpy();
  const { server, agent } = await servedAgent(script, {
    tools: [spy.tool('work')],
    limits: { attempts: { baseDelayMs: 0 } },
  });
  const { runtime, ledger, misfits } = watchedRuntime();
  const run = runtime.run(agent, 'Go.');
  const result = await run.result;
  const records = await ledger.read(run.sessionId);
  expect(violationsOf({ records })).toEqual([]);
  expect(misfits).toEqual([]);
  server.assertPlayedOut();
  return { result, records, entries: spy.entries, warnings: ofType(records, 'step.warned') };
}

const unended = () => reply().finish(null).withoutDone();
const call = () => reply().call('work', { id: 'a' });

describe('how an answer ends', () => {
  it('MA-14 an answer that ends before it says anything is asked for once more', async () => {
    const { result } = await play([unended(), reply().text('Done.')]);
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
  });

  it('MA-14 a second one is an error', async () => {
    const { result, records } = await play([unended(), unended()]);
    expect(result).toMatchObject({
      status: 'failed',
      error: { kind: 'malformed-response', detail: 'no-finish' },
    });
    expect(ofType(records, 'turn.closed')[0]?.data.stopReason).toBe('error');
  });

  const cut: readonly [string, Reply][] = [
    ['text and no usage', reply().text('Half of it')],
    ['an open call', reply().text('Half of it').call('work', { id: 'a' }).usage(10, 5)],
  ];
  it.each(cut)('MA-14 no finish, with %s, is cut off and not asked for again', async (_title, answer) => {
    const { result, entries } = await play([answer.finish(null)]);
    expect(result).toMatchObject({
      status: 'failed',
      text: 'Half of it',
      error: { kind: 'malformed-response', detail: 'no-finish' },
    });
    expect(entries).toEqual([]);
  });

  it('MA-14 no finish, with text and usage and no call, completes with a warning', async () => {
    const { result, warnings } = await play([reply().text('All of it.').usage(10, 5).finish(null)]);
    expect(result).toMatchObject({ status: 'completed', text: 'All of it.', stopReason: 'other' });
    expect(warnings[0]?.data.warnings[0]).toMatch(/^missing-finish/);
  });

  it.each([
    ['content_filter', 'content-filter'],
    ['error', 'provider-error'],
    ['insufficient_system_resource', 'overloaded'],
  ])('MA-14 the reason %s is a failure, its text kept', async (reason, kind) => {
    const { result, records } = await play([reply().text('So far').usage(10, 5).finish(reason)]);
    expect(result).toMatchObject({ status: 'failed', text: 'So far', error: { kind } });
    expect(ofType(records, 'assistant.message').map(({ data }) => data.partial)).toEqual([true]);
  });

  it('MA-14 a reason nobody knows, with text, completes with a warning', async () => {
    const { result, warnings, records } = await play([reply().text('All of it.').finish('eos_like')]);
    expect(result).toMatchObject({ status: 'completed', text: 'All of it.', stopReason: 'other' });
    expect(warnings[0]?.data.warnings[0]).toMatch(/^unknown-finish/);
    expect(ofType(records, 'step.closed')[0]?.data.rawFinish).toBe('eos_like');
  });

  it('MA-14 a length limit ends the turn as max-tokens', async () => {
    const { result } = await play([reply().text('Long').finish('length')]);
    expect(result).toMatchObject({ status: 'completed', text: 'Long', stopReason: 'max-tokens' });
  });

  it('MA-14 no call of an answer that was cut at its length limit runs', async () => {
    const { result, records, entries } = await play([
      call().call('work', '{"id":"b').finish('length'),
      reply().text('Shorter.'),
    ]);
    expect(entries).toEqual([]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['cut-off', 'cut-off']);
    expect(result).toMatchObject({ status: 'completed', text: 'Shorter.' });
  });

  it('MA-14 calls decide, not the reason: stop with a call goes on', async () => {
    const { entries } = await play([call().finish('stop'), reply().text('Done.')]);
    expect(entries).toHaveLength(1);
  });

  it('MA-14 announced calls that never came end the turn with a warning', async () => {
    const { result, warnings } = await play([reply().text('I will.').finish('tool_calls')]);
    expect(result).toMatchObject({ status: 'completed', text: 'I will.', stopReason: 'other' });
    expect(warnings[0]?.data.warnings[0]).toMatch(/^missing-calls/);
  });
});
