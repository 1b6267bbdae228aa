import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW, sessionIn } from './cli-process.ts';

const RUN = ['run', fixture('worker'), '--input', 'go'];
const LONG = 'x'.repeat(12_000);

/** Lines with more than a few hundred characters. */
function longLines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.length > 600);
}

describe('long texts', SLOW, () => {
  it('are cut in sessions show, which says so', async () => {
    await using place = await openWorkplace([
      reply().call('note', { text: LONG }),
      reply().text('y'.repeat(1_500)),
    ]);
    const session = sessionIn((await place.run([...RUN, '--plain'])).stdout);
    const { stdout } = await place.run(['sessions', 'show', session]);
    expect(stdout).toMatch(/^ {2}note \{"text":"x+… {2}11\.6k more characters; --json has all$/m);
    expect(stdout).toMatch(/^ {4}x+… {2}11\.6k more characters; --json has all$/m);
    // What a model says is a paragraph.
    expect(longLines(stdout)).toEqual([`    ${'y'.repeat(1_500)}`]);
    expect((await place.run(['sessions', 'show', session, '--json'])).stdout).toContain(LONG);
  });

  it('are cut where a person decides, and whose call it is stays visible', async () => {
    await using place = await openWorkplace([reply().call('remove', { path: LONG }), reply().text('Done.')]);
    const paused = await place.run([...RUN, '--on-approval', 'pause']);
    const cut =
      /^ {2}remove \{"path":"x+… {2}11\.6k more characters; approvals ls --json has all {2}worker$/m;
    expect(paused.stdout).toMatch(cut);
    const listed = await place.run(['approvals', 'ls']);
    expect(listed.stdout).toMatch(cut);
    expect((await place.run(['approvals', 'ls', '--json'])).stdout).toContain(LONG);
    const approved = await place.run(['approve', `${sessionIn(paused.stdout)}.1.1.0.ask`]);
    expect(approved.stdout).toMatch(/^approved: remove \{"path":"x+… {2}11\.6k more characters\n$/);
    expect(longLines(paused.stdout + listed.stdout + approved.stdout)).toEqual([]);
  });
});
