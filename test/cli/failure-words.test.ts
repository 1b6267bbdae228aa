import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { eventLine } from '../../src/cli/event-line.ts';
import { failureWords } from '../../src/cli/failure-words.ts';
import { glyphsFor } from '../../src/cli/glyphs.ts';
import { growTree } from '../../src/cli/grow-tree.ts';
import { plainText } from '../../src/cli/line.ts';
import { emptyTree } from '../../src/cli/run-tree.ts';
import { treeLines } from '../../src/cli/tree-lines.ts';
import { fixture, openWorkplace, SLOW, sessionIn } from './cli-process.ts';
import { eventLike, sampleEvents } from './sample-events.ts';

const RUN = ['run', fixture('several'), '--export', 'second', '--input', 'go'];
const REFUSED = /attempt 1 failed: network: cannot connect: .*ECONNREFUSED 127\.0\.0\.1:\d+/;

/** A place where nobody listens any more. */
async function leftUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return `http://127.0.0.1:${port}/v1`;
}

describe('a failure', () => {
  it('is told on one line that is not too long, without secrets', () => {
    const message = `sk-abcdefghijklmnopqrstuvwxyz012345\nis no key ${'x'.repeat(5_000)}`;
    const words = failureWords({ kind: 'auth', message });
    expect(words).toMatch(/^auth: \[redacted\] is no key x+…$/);
    expect(words.length).toBeLessThan(320);
  });

  it('of a process that ended is none of the network', () => {
    const message = 'the process ended before the answer came';
    expect(failureWords({ kind: 'network', detail: 'interrupted', message })).toBe(message);
    expect(failureWords({ kind: 'network', message: 'cannot connect' })).toBe('network: cannot connect');
  });

  it('of an attempt stands in the tree while the next one is waited for, and beside that', async () => {
    const events = await sampleEvents([reply().text('Done.')]);
    const at = events.findIndex(({ type }) => type === 'attempt.started');
    const [sample, root] = [events[at], events[0]?.session ?? ''];
    if (sample === undefined) throw new Error('there was no attempt');
    const failed = eventLike(sample, 'attempt.failed', {
      data: { attempt: 1, retryable: true, failure: { kind: 'network' }, message: 'ECONNREFUSED' },
    });
    const scheduled = eventLike(sample, 'attempt.retry-scheduled', {
      data: { attempt: 1, maxAttempts: 4, delayMs: 1_900, reason: 'network' },
    });
    const again = eventLike(sample, 'attempt.started', { data: { attempt: 2, sha256: '' } });
    const begun = events.slice(0, at + 1).reduce(growTree, emptyTree(root));
    const lastLine = (tree: typeof begun) =>
      plainText(treeLines(tree, 120, { glyphs: glyphsFor({}), now: 0, isLive: true }).at(-1) ?? []);
    const waiting = growTree(growTree(begun, failed), scheduled);
    expect(lastLine(waiting)).toContain('next attempt in 2 s: network: ECONNREFUSED');
    expect(lastLine(growTree(waiting, again))).toMatch(/attempt 2 .* after network: ECONNREFUSED/);
    expect(plainText(eventLine(failed, { ledgerOption: '' }) ?? [])).toBe(
      'worker: attempt 1 failed: network: ECONNREFUSED',
    );
  });
});

describe('the cause of a failed attempt', SLOW, () => {
  it('is told where nobody listens, and kept for sessions show', async () => {
    await using place = await openWorkplace([]);
    const run = place.start(RUN, { env: { TEST_MODEL_URL: await leftUrl() } });
    const session = sessionIn((await run.line(/began in session/)) ?? '');
    expect(await run.line(REFUSED)).toMatch(/^second: /);
    run.kill('SIGKILL');
    await run.ended;
    const { stdout } = await place.run(['sessions', 'show', session]);
    expect(stdout).toMatch(REFUSED);
  });
});
