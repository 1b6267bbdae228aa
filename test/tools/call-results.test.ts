import { describe, expect, it } from 'vitest';
import type { ArtifactRef, ToolOutput } from '../../src/ledger/content.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { reply } from '../../src/testing/reply.ts';
import { LEDGER_KINDS, type LedgerKind, openLedger } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { eventsOf, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

type Options = Parameters<ReturnType<typeof createToolSpy>['tool']>[2];

/** One call of a tool that gives this value; what became of it everywhere. */
async function give(
  kind: LedgerKind,
  act: () => unknown,
  {
    options = {},
    wrap = (ledger: Ledger) => ledger,
  }: { options?: Options; wrap?: (l: Ledger) => Ledger } = {},
) {
  const { model, agent } = scriptedAgent([reply().call('give', { id: 'a' }), reply().text('Done.')], {
    tools: [createToolSpy().tool('give', act, options)],
  });
  const { runtime, ledger, misfits } = watchedRuntime({ ledger: wrap(await openLedger(kind)) });
  const run = runtime.run(agent, 'Go.');
  const result = await run.result;
  expect(result.status).toBe('completed');
  expect(misfits).toEqual([]);
  const records = await ledger.read(run.sessionId);
  const settled = ofType(records, 'tool.settled')[0]?.data;
  const events = await eventsOf(run, { content: true });
  const read = async (ref: ArtifactRef | undefined) =>
    ref === undefined ? undefined : Buffer.from(await ledger.getArtifact(ref)).toString('utf8');
  return { shown: lastResults(model, 1)[0] ?? '', settled, records, events, model, read };
}

describe.each(LEDGER_KINDS)('results of calls (%s)', (kind) => {
  it.each([
    ['2,001 lines', `${'line\n'.repeat(2_000)}last`],
    ['51,201 bytes', 'x'.repeat(51_201)],
    ['51,201 bytes of 3-byte characters', '€'.repeat(17_067)],
  ])('TR-08 %s are cut with a mark, and all of it is kept', async (_, text) => {
    const { shown, settled, read } = await give(kind, () => text);
    const [head = '', mark] = shown.split(/\n(?=\[truncated)/);
    expect(text.startsWith(head)).toBe(true);
    expect(Buffer.byteLength(head)).toBeLessThanOrEqual(51_200);
    expect(head.split('\n').length).toBeLessThanOrEqual(2_000);
    expect(shown.isWellFormed()).toBe(true);
    expect(mark).toMatch(/^\[truncated: \d+ more lines?, \d+ more bytes?\..+\]$/);
    expect((await read(settled?.resultRef)) === text).toBe(true);
  });

  it.each([
    ['2,000 lines', 'line\n'.repeat(2_000).trimEnd()],
    ['51,200 bytes', 'x'.repeat(51_200)],
    ['51,200 bytes of 4-byte characters', '😀'.repeat(12_800)],
  ])('TR-08 %s are untouched', async (_, text) => {
    const { shown, settled } = await give(kind, () => text);
    expect(shown === text).toBe(true);
    expect(settled?.resultRef).toBeUndefined();
  });

  it('TR-09 an error is masked and cut at 4,000 characters in store, events and request', async () => {
    const secret = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD';
    const { shown, settled, events } = await give(kind, () => {
      throw new RangeError(`key ${secret} failed ${'y'.repeat(10_000)}`);
    });
    const output = settled?.output as Extract<ToolOutput, { type: 'error' }>;
    expect(settled?.status).toBe('error');
    expect(output.text.length).toBeLessThanOrEqual(4_000);
    expect(output.text.endsWith('…')).toBe(true);
    expect(shown).toBe(output.text);
    expect(shown).toContain('failed');
    expect(JSON.stringify([settled, events, shown])).not.toContain(secret.slice(8));
    expect(JSON.stringify(events)).not.toContain('y'.repeat(4_000));
  });

  it('TR-10 an artifact that cannot be kept costs a warning and nothing else', async () => {
    const text = 'x'.repeat(60_000);
    const wrap = (ledger: Ledger) =>
      faultyLedger(ledger, [{ at: 'put-artifact', every: true, action: { type: 'fail' } }]);
    const whole = await give(kind, () => text);
    const without = await give(kind, () => text, { wrap });
    expect(without.shown).toBe(whole.shown);
    expect(without.settled).toMatchObject({ status: 'success', output: whole.settled?.output });
    expect(without.settled?.resultRef).toBeUndefined();
    expect(ofType(without.records, 'tool.progressed').map(({ data }) => data.text)).toEqual([
      expect.stringContaining('warning: the whole result could not be kept'),
    ]);
  });

  it('TR-11 the model may be shown less than is stored, and what is stored is whole', async () => {
    const rows = [
      { id: 1, name: 'a' },
      { id: 2, name: 'b' },
    ];
    const { shown, settled } = await give(kind, () => rows, {
      options: { toModelOutput: (output) => `${(output as typeof rows).length} rows` },
    });
    expect(shown).toBe('2 rows');
    expect(settled?.output).toEqual({ type: 'text', text: '2 rows' });
    expect(settled?.result).toEqual(rows);
  });

  it('TR-11 a large value is stored whole beside its short form', async () => {
    const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `name ${id}` }));
    const { settled, read } = await give(kind, () => rows, {
      options: { toModelOutput: (output) => `${(output as typeof rows).length} rows` },
    });
    expect(settled?.result).toBeUndefined();
    expect(JSON.parse((await read(settled?.resultRef)) ?? '')).toEqual(rows);
  });

  it.each([
    ['a string', 'as it is', 'as it is'],
    ['an empty string', '', ''],
    ['undefined', undefined, '(no output)'],
    ['null', null, 'null'],
    ['an object', { a: [1, 'b'] }, '{"a":[1,"b"]}'],
    ['a number that is not finite', Number.NaN, '"NaN"'],
  ])('%s is a result that is no error', async (_, value, expected) => {
    const { shown, settled } = await give(kind, () => value);
    expect(shown).toBe(expected);
    expect(settled?.status).toBe('success');
  });

  it('an object with an error text is an error', async () => {
    const { shown, settled } = await give(kind, () => ({ error: 'no such file' }));
    expect(shown).toBe('no such file');
    expect(settled?.status).toBe('error');
    expect(settled?.output.type).toBe('error');
  });

  it('a result that cannot be read is an error, not the end of the turn', async () => {
    const hostile = Object.defineProperty({}, 'endTurn', {
      get() {
        throw new RangeError('no');
      },
    });
    const { settled, shown } = await give(kind, () => hostile);
    expect(settled?.status).toBe('error');
    expect(shown).toBe('give ran, but its result could not be read.');
  });

  it('images of a result reach the model and lie outside the record', async () => {
    const data = Buffer.alloc(30_000, 7).toString('base64');
    const image = { type: 'image', mediaType: 'image/png', source: { type: 'base64', data } };
    const { model, settled, records } = await give(kind, () => ({
      type: 'content',
      parts: [{ type: 'text', text: 'a picture' }, image],
    }));
    const prompt = model.requests[1]?.request.messages.at(-1);
    expect(prompt).toMatchObject({
      role: 'tool',
      results: [{ output: { type: 'content', parts: [{ type: 'text', text: 'a picture' }, image] } }],
    });
    expect(settled?.output).toMatchObject({
      parts: [{ type: 'text' }, { type: 'image', source: { type: 'artifact', ref: { size: 30_000 } } }],
    });
    expect(JSON.stringify(records)).not.toContain(data.slice(0, 100));
  });
});
