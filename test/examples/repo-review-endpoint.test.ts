import { join } from 'node:path';
import { createRuntime, sqliteLedger } from 'swarmwright';
import { reply, scriptedServer } from 'swarmwright/testing';
import { expect, it } from 'vitest';
import { madeFolder } from './made-folder.ts';
import { endOf, runProgram, startProgram } from './run-example.ts';

const EXAMPLE = 'examples/repo-review.ts';

it('works with the endpoint that is given, and goes on after kill -9 without a tool run again', async () => {
  const place = madeFolder({ 'work/a.ts': 'export {};\n' });
  const ledger = join(place, 'l.db');
  const args = [join(place, 'work'), '--ledger', ledger];
  const script = [
    reply().call('list_files', {}),
    reply().text('I have seen ').stall(),
    // The process is another one by now.
    reply().text('One file, and it is empty.'),
  ];
  await using server = await scriptedServer({ script });
  const env = { OPENAI_BASE_URL: server.baseURL, OPENAI_API_KEY: 'k-123', SWARMWRIGHT_MODEL: 'tiny' };

  const child = startProgram(EXAMPLE, args, { env });
  const ending = endOf(child);
  const { ended: gone } = await server.arrived(1);
  child.kill('SIGKILL');
  const killed = await ending;
  expect(killed.signal).toBe('SIGKILL');
  await gone;
  const session = /session (s-\w+)/.exec(killed.stdout)?.[1] ?? '';

  const resumed = await runProgram(EXAMPLE, [...args, '--resume', session], { env });
  expect(resumed).toMatchObject({ code: 0, stderr: '' });
  expect(resumed.stdout).toMatch(/^Model: tiny at 127\.0\.0\.1:\d+\.\n/);
  expect(resumed.stdout).toContain('One file, and it is empty.');
  expect(`${killed.stdout}${resumed.stdout}`).not.toContain('k-123');
  expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([
    'Bearer k-123',
    'Bearer k-123',
    'Bearer k-123',
  ]);
  server.assertPlayedOut();

  await using runtime = createRuntime({ ledger: sqliteLedger({ path: ledger }) });
  const facts = await runtime.sessions.read(session);
  expect(facts.filter(({ type }) => type === 'tool.dispatched')).toHaveLength(1);
  expect(facts.filter(({ type }) => type === 'turn.closed')).toHaveLength(1);
});

it('fails with what the endpoint says', async () => {
  await using server = await scriptedServer({ script: [], violations: 'record' });
  const env = { OPENAI_BASE_URL: server.baseURL, SWARMWRIGHT_MODEL: 'tiny' };
  const place = madeFolder();
  const { code, stderr } = await runProgram(EXAMPLE, [place, '--ledger', join(place, 'l.db')], { env });
  expect(code).toBe(1);
  expect(stderr).toContain('Failed: invalid-request: the script holds no answer');
});
