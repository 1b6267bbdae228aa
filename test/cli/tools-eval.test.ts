import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRuntime, defineAgent, defineTool, sqliteLedger } from 'swarmwright';
import { reply, scriptedModel } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openWorkplace, SLOW } from './cli-process.ts';

const tool = (name: string) =>
  defineTool({
    name,
    description: `Does ${name.replaceAll('_', ' ')}.`,
    inputSchema: z.object({}),
    defer: 'always',
    execute: () => 'done',
  });

/** Two turns in a ledger: one finds its tool at once, the other looks twice and calls too early. */
async function fillLedger(path: string): Promise<void> {
  const model = scriptedModel({
    script: [
      reply().call('tool_search', { query: 'paint fence', limit: 1 }),
      reply().call('paint_fence', {}),
      reply().text('Done.'),
      reply().call('tool_search', { query: 'zeppelin' }).call('wash_car', {}),
      reply().call('tool_search', { query: 'wash' }),
      reply().call('tool_search', { query: 'WASH' }),
      reply().call('wash_car', {}),
      reply().text('Done.'),
    ],
  });
  const tools = ['paint_fence', 'paint_door', 'wash_car'].map(tool);
  const agent = defineAgent({ name: 'worker', instructions: '', model, tools });
  await using runtime = createRuntime({ ledger: sqliteLedger({ path }) });
  await runtime.run(agent, 'Paint.', { sessionId: 's-one' }).result;
  await runtime.run(agent, 'Wash.', { sessionId: 's-two' }).result;
}

interface Evaluated {
  readonly figures: Readonly<Record<string, number | null>>;
  readonly broken: readonly string[];
  readonly turns?: number;
  readonly searches?: number;
}

const jsonOf = (stdout: string): Evaluated => JSON.parse(stdout) as Evaluated;

describe('tools eval of a ledger', SLOW, () => {
  it('tells recall, unused schema, repeats, revisions, misses and time, and holds them to limits', async () => {
    await using place = await openWorkplace([]);
    await fillLedger(join(place.folder, 'swarmwright.db'));
    const json = await place.run(['tools', 'eval', '--json']);
    expect(json).toMatchObject({ code: 0, stderr: '' });
    const { figures, broken, turns, searches } = jsonOf(json.stdout);
    expect({ turns, searches, broken }).toEqual({ turns: 2, searches: 4, broken: [] });
    expect(figures).toMatchObject({
      recall: 1,
      hitAt1: 1,
      empty: 1 / 4,
      misses: 0,
      unused: 0,
      unusedChars: 0,
      repeated: 1 / 4,
      revised: 1 / 4,
      hidden: 1 / 2,
      changes: 1,
      firstSteps: 3,
    });
    expect(figures['firstMs']).toBeGreaterThanOrEqual(0);

    const kept = await place.run([
      'tools',
      'eval',
      '--limit',
      'recall=1,repeated=0.25',
      '--limit',
      'hidden=0.5',
    ]);
    expect(kept).toMatchObject({ code: 0, stderr: '' });
    expect(kept.stdout).toMatch(/^2 turns with deferred tools, 4 searches, k = 5\n/);
    expect(kept.stdout).toMatch(/^recall +100\.0 % +recall@k$/m);

    const failed = await place.run(['tools', 'eval', '--limit', 'repeated=0.2,empty=0.1,recall=0.5']);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toBe(
      'not kept: repeated is 0.25, at most 0.2 is asked for\nnot kept: empty is 0.25, at most 0.1 is asked for\n',
    );
  });

  it('looks at one session where asked to, and fails a limit on what was not measured', async () => {
    await using place = await openWorkplace([]);
    await fillLedger(join(place.folder, 'swarmwright.db'));
    const one = await place.run(['tools', 'eval', '--session', 's-one', '--json']);
    expect(jsonOf(one.stdout)).toMatchObject({ turns: 1, figures: { repeated: 0, hidden: 0 } });
    expect((await place.run(['tools', 'eval', '--session', 's-none'])).stderr).toContain('unknown-session');

    await using empty = await openWorkplace([]);
    await using runtime = createRuntime({
      ledger: sqliteLedger({ path: join(empty.folder, 'swarmwright.db') }),
    });
    await runtime.sessions.list();
    const judged = await empty.run(['tools', 'eval', '--limit', 'recall=0.5']);
    expect(judged).toMatchObject({ code: 1, stderr: 'not kept: recall was not measured\n' });
  });
});

const catalogue = [
  { name: 'mail__send', description: 'Sends a mail.', inputSchema: { type: 'object' } },
  { name: 'mail__list', description: 'Lists mails.', group: 'mail' },
  { name: 'files__read', description: 'Reads a file.' },
  { name: 'not a name', description: 'Of no use.' },
];
const queries = [
  { query: 'send a mail', relevant: ['mail__send'] },
  { query: 'read file', relevant: ['files__read', 'files__open'], mode: 'any' },
  { query: 'list mails', relevant: ['mail__list', 'files__read'] },
  { query: 'zeppelin', relevant: ['files__read'] },
];
const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n');

describe('tools eval of a set', SLOW, () => {
  it('measures the search over labelled queries', async () => {
    await using place = await openWorkplace([]);
    await writeFile(join(place.folder, 'set.jsonl'), lines(queries));
    await writeFile(join(place.folder, 'tools.jsonl'), `${lines(catalogue)}\n`);
    const args = ['tools', 'eval', '--set', 'set.jsonl', '--catalogue', 'tools.jsonl'];
    const json = await place.run([...args, '--json']);
    expect(json).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({
      queries: 4,
      tools: 3,
      unusable: ['not a name'],
      figures: { recall: 2.5 / 4, hitAt1: 3 / 4, empty: 1 / 4, misses: 0 },
    });
    const bounded = await place.run([...args, '--json', '-k', '1', '--limit', 'recall=0.9']);
    expect(bounded.code).toBe(1);
    expect(jsonOf(bounded.stdout).broken).toEqual(['recall is 0.625, at least 0.9 is asked for']);
  });

  it('finds the catalogue that a line names beside the set', async () => {
    await using place = await openWorkplace([]);
    const { mkdir } = await import('node:fs/promises');
    await mkdir(join(place.folder, 'sets/catalogues'), { recursive: true });
    await writeFile(join(place.folder, 'sets/catalogues/post.jsonl'), lines(catalogue));
    const named = queries.map((query) => ({ ...query, catalogue: 'post' }));
    await writeFile(join(place.folder, 'sets/a.jsonl'), lines(named));
    const { code, stdout } = await place.run(['tools', 'eval', '--set', 'sets/a.jsonl']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^4 queries over 3 tools, k = 5, 1 tools left out as unusable\n/);
  });

  it.each([
    ['a file that is not there', [], ['--set', 'no.jsonl'], /there is no file .*no\.jsonl/],
    ['a line that is no query', [{ query: 1 }], ['--set', 'set.jsonl'], /set\.jsonl: line 1: query/],
    ['a set without a catalogue', queries, ['--set', 'set.jsonl'], /give --catalogue/],
    [
      'a catalogue elsewhere',
      [{ ...queries[0], catalogue: '../x' }],
      ['--set', 'set.jsonl'],
      /give --catalogue/,
    ],
    ['an unknown figure', queries, ['--limit', 'speed=1'], /speed is no figure/],
    ['a limit without number', queries, ['--limit', 'recall=high'], /recall needs a number/],
    ['a broken k', queries, ['-k', '0'], /whole number/],
  ])('ends with 2 for %s', async (_, rows, args, message) => {
    await using place = await openWorkplace([]);
    await writeFile(join(place.folder, 'set.jsonl'), lines(rows));
    const { code, stderr } = await place.run(['tools', 'eval', ...args]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
