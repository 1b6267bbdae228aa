import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW, sessionIn } from './cli-process.ts';

/** What a page streams until its history is told. */
async function storyOf(url: string): Promise<string> {
  const { origin, hash } = new URL(url);
  const headers = { Authorization: `Bearer ${new URLSearchParams(hash.slice(1)).get('token')}` };
  const response = await fetch(`${origin}/api/stream`, { headers });
  const reader = response.body?.getReader();
  let text = '';
  while (reader !== undefined && !text.includes('event: ready')) {
    const { value, done } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  await reader?.cancel();
  return text;
}

const urlIn = (line: string | undefined) => /http:\S+/.exec(line ?? '')?.[0] ?? 'no address is told';

describe('the local page from the command line', SLOW, () => {
  it('IN-10 shows a finished ledger, and ends with Ctrl-C', async () => {
    await using place = await openWorkplace([
      reply().call('note', { text: 'private' }),
      reply().text('Done.'),
    ]);
    const ran = await place.run(['run', fixture('worker'), '--input', 'go', '--json']);
    const session = sessionIn(ran.stdout);
    const command = place.start(['inspect', 'swarmwright.db']);
    const url = urlIn(await command.errorLine(/The page: /));
    await command.errorLine(/Ctrl-C ends/);
    const story = await storyOf(url);
    expect(story).toContain(session);
    expect(story).toContain('turn.closed');
    expect(story).not.toContain('private');
    expect((await fetch(url)).headers.get('content-type')).toContain('text/html');
    command.kill('SIGINT');
    expect((await command.ended).code).toBe(0);
  });

  it('IN-06 shows a run beside its output, and cancels it with the token of its address', async () => {
    await using place = await openWorkplace([reply().call('hold', { gate: 'page' })]);
    const command = place.start([
      'run',
      fixture('worker'),
      '--inspect',
      '--content',
      '--input',
      'go',
      '--json',
    ]);
    const url = new URL(urlIn(await command.errorLine(/The page: /)));
    const told = await command.line(/"tool.progressed"/);
    expect(await storyOf(url.href)).toContain('holding at page');
    const token = new URLSearchParams(url.hash.slice(1)).get('token');
    const response = await fetch(`${url.origin}/api/cancel`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ session: sessionIn(told ?? '') }),
    });
    expect(response.status).toBe(200);
    expect((await command.ended).code).toBe(130);
  });

  it('serves on after a run with --stay, in the same place', async () => {
    await using place = await openWorkplace([reply().text('Done.')]);
    const command = place.start(['inspect', fixture('worker'), '--input', 'go', '--stay']);
    const url = urlIn(await command.errorLine(/The page: /));
    await command.errorLine(/Ctrl-C ends/);
    expect(await storyOf(url)).toContain('turn.closed');
    command.kill('SIGINT');
    expect((await command.ended).code).toBe(0);
  });
});
