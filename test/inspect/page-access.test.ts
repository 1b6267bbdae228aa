import { request } from 'node:http';
import { page } from 'swarmwright/inspect';
import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { shownRuntime, TOKEN } from './shown-run.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Asks as no browser would let a page ask: with any header. */
function ask(
  url: string,
  {
    method = 'GET',
    body,
    ...headers
  }: { method?: string; body?: string; [header: string]: string | undefined },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
    const asked = request(
      url,
      { method, headers: sent as Record<string, string>, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

const JSON_TYPE = 'application/json';

describe('who may ask the page', () => {
  it('IN-08 refuses a name that a stranger can give this address', async () => {
    const { url } = await shownRuntime();
    expect((await ask(`${url}api/approvals`, { host: 'evil.example' })).status).toBe(421);
    expect((await ask(url, { host: 'evil.example:80' })).status).toBe(421);
    expect((await ask(`${url}api/approvals`, { host: 'localhost:1' })).status).toBe(200);
  });

  it.each([
    [{ origin: 'http://evil.example' }],
    [{ origin: 'null' }],
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
  ])('IN-08 refuses what another site makes a browser ask: %j', async (headers) => {
    const { url } = await shownRuntime();
    expect((await ask(`${url}api/approvals`, headers)).status).toBe(403);
  });

  it.each([
    ['no token', {}, 401],
    ['a wrong token', { authorization: 'Bearer wrong-wrong-wrong-wrong' }, 401],
    ['no JSON', { authorization: `Bearer ${TOKEN}` }, 415],
  ])('IN-06 refuses an action with %s', async (_, headers, status) => {
    const { url } = await shownRuntime({}, { token: TOKEN });
    const base = url.replace(/#.*/, '');
    const body = JSON.stringify({ session: 's-1' });
    expect((await ask(`${base}api/cancel`, { method: 'POST', body, ...headers })).status).toBe(status);
  });

  it('IN-06 takes no action at all without a token of its own', async () => {
    const { url } = await shownRuntime();
    const headers = { method: 'POST', body: '{}', 'content-type': JSON_TYPE };
    expect((await ask(`${url}api/cancel`, headers)).status).toBe(401);
  });

  it('IN-06 lets nobody look without the token where others reach the page', async () => {
    const { url } = await shownRuntime({}, { host: '0.0.0.0', token: TOKEN });
    const base = url.replace(/#.*/, '').replace('0.0.0.0', '127.0.0.1');
    expect((await ask(base, {})).status).toBe(200);
    for (const path of ['api/approvals', 'api/path?instance=s', 'api/stream']) {
      expect((await ask(`${base}${path}`, {})).status).toBe(401);
    }
    const authorization = `Bearer ${TOKEN}`;
    expect((await ask(`${base}api/approvals`, { authorization })).status).toBe(200);
  });

  it('IN-06 shows what was said to nobody without the token', async () => {
    const { url } = await shownRuntime({}, { content: true, token: TOKEN });
    const base = url.replace(/#.*/, '');
    expect((await ask(`${base}api/stream`, {})).status).toBe(401);
    expect((await ask(`${base}api/approvals`, { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
  });

  it.each([
    ['an unknown session', { session: 's-none', text: 'x' }, 'unknown-session'],
    ['an unknown field', { session: 's-1', text: 'x', more: 1 }, 'invalid-input'],
    ['too long a text', { session: 's-1', text: 'x'.repeat(20_000) }, 'invalid-input'],
    ['too large a body', { session: 's-1', text: 'x'.repeat(100_000) }, 'invalid-input'],
  ])('IN-06 answers %s with a code', async (_, content, code) => {
    const { url } = await shownRuntime({}, { token: TOKEN });
    const { status, body } = await ask(`${url.replace(/#.*/, '')}api/steer`, {
      method: 'POST',
      body: JSON.stringify(content),
      'content-type': JSON_TYPE,
      authorization: `Bearer ${TOKEN}`,
    });
    expect(status).toBe(409);
    expect(JSON.parse(body)).toMatchObject({ code });
  });

  it('IN-08 sends a content policy without any exception, with every answer', async () => {
    const { url } = await shownRuntime();
    for (const path of ['', 'app.js', 'nothing', 'api/approvals']) {
      const { headers } = await ask(`${url}${path}`, {});
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain('unsafe');
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it.each(['../package.json', '..%2fpackage.json', 'api/../../package.json', 'tsconfig.json'])(
    'IN-08 serves no other file: %s',
    async (path) => {
      const { url } = await shownRuntime();
      expect((await ask(`${url}${path}`, {})).status).toBe(404);
    },
  );

  it('IN-08 keeps what was said to itself unless a policy lets it out', async () => {
    const { agent } = scriptedAgent([reply().text('The secret word.')]);
    const { runtime, url } = await shownRuntime();
    const run = runtime.run(agent, 'A private question.');
    await run.result;
    const response = await fetch(`${url}api/stream`);
    const reader = response.body?.getReader();
    let text = '';
    while (!text.includes('event: ready')) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    expect(text).toContain('turn.closed');
    expect(text).not.toContain('private question');
    expect(text).not.toContain('secret word');
    const said = await ask(`${url}api/said?step=${run.sessionId}.1.1`, {});
    expect([said.status, said.body]).toEqual([200, '{}']);
  });

  it('IN-03 goes on without the page where its address is taken', async () => {
    const { url } = await shownRuntime();
    const { agent } = scriptedAgent([reply().text('Done.')]);
    const inspector = page({ port: Number(new URL(url).port) });
    const { createRuntime } = await import('swarmwright');
    await using runtime = createRuntime({ inspect: inspector });
    await expect(inspector.url).rejects.toMatchObject({ code: 'invalid-inspector' });
    expect((await runtime.run(agent, 'Go.').result).status).toBe('completed');
  });

  it.each([
    [{ host: '0.0.0.0' }],
    [{ port: 70_000 }],
    [{ token: 'short' }],
    [{ tokn: 'misspelt-misspelt' } as object],
  ])('refuses the options %j', (options) => {
    expect(() => page(options)).toThrow(expect.objectContaining({ code: 'invalid-inspector' }));
  });
});
