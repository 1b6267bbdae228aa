import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { createRuntime } from 'swarmwright';
import { page } from 'swarmwright/inspect';
import { describe, expect, it, onTestFinished } from 'vitest';
import { shownRuntime } from './shown-run.ts';

const RUNS = Number(process.env['SWARMWRIGHT_RANDOM_RUNS'] ?? 200);

/** Sends a request as it is written, which no client would, and gives the status and the rest of the answer. */
async function send(url: string, target: string, method = 'GET') {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`, 'latin1'),
  );
  const answer = await text(socket);
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]), answer };
}

/** Parts that parsers of addresses stumble over, in any order. */
const oddTarget = fc
  .array(
    fc.oneof(
      fc.constantFrom('/', '//', '\\', '?', '#', '@', ':', '%', '%00', '%ff', '%2e%2e', '..', '[', ']', '*'),
      fc.constantFrom(
        'api/path',
        'api/said',
        'index.html',
        'http://',
        'evil.example',
        '__proto__',
        'constructor',
      ),
      fc.constantFrom('?instance=', '&seq=', 'NaN', '-1', '1e999', '%F0%9F', '?step='),
      // Any byte that does not end the line or the target.
      fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => parts.join(''));

describe('targets of requests to the page', () => {
  it.each([
    ['//', 404],
    ['//evil.example/index.html', 404],
    ['///', 404],
    ['http://evil.example/index.html', 400],
    ['*', 400],
    ['/%', 404],
    ['/..%2f..%2fpackage.json', 404],
    ['/../package.json', 404],
    ['/__proto__', 404],
    ['/api/path?instance=%ff&seq=NaN', 200],
  ])('IN-08 answers %s with %i', async (target, status) => {
    const { url } = await shownRuntime();
    expect((await send(url, target)).status).toBe(status);
  });

  it('IN-08 answers whatever is asked, never with a fault of its own', async () => {
    const { url } = await shownRuntime();
    await fc.assert(
      fc.asyncProperty(
        oddTarget,
        fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS'),
        async (target, method) => {
          const { status, answer } = await send(url, target, method);
          expect([200, 400, 401, 404, 421]).toContain(status);
          expect(answer).not.toContain('"swarmwright"');
        },
      ),
      { numRuns: RUNS },
    );
    expect((await send(url, '/')).status).toBe(200);
  });
});

describe('a page whose address is taken', () => {
  it('IN-03 warns where nobody asks for it', async () => {
    const { url } = await shownRuntime();
    const warned = once(process, 'warning');
    const runtime = createRuntime({ inspect: page({ port: Number(new URL(url).port) }) });
    onTestFinished(() => runtime.close());
    const [warning] = await warned;
    expect(warning).toMatchObject({ name: 'SwarmwrightWarning', code: 'invalid-inspector' });
    expect(warning.message).toContain(new URL(url).port);
  });

  it('IN-03 tells whoever asks for its address, and nobody else', async () => {
    const { url } = await shownRuntime();
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const inspector = page({ port: Number(new URL(url).port) });
    const runtime = createRuntime({ inspect: inspector });
    onTestFinished(() => runtime.close());
    await expect(inspector.url).rejects.toMatchObject({ code: 'invalid-inspector' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.filter(({ name }) => name === 'SwarmwrightWarning')).toEqual([]);
  });
});
