import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { scrub } from '../../src/model/scrub.ts';
import { request, runStep } from '../support/run-step.ts';
import { sse, startSseServer, status } from '../support/sse-server.ts';

const clean = (text: string, secrets: string[] = [], prompt: string[] = []) =>
  scrub(text, { secrets, promptTexts: () => prompt });

describe('scrub', () => {
  it.each([
    ['Incorrect API key provided: sk-ab***xyz1.', 'ab***xyz1'],
    ['Authorization: Bearer abc.def-123', 'abc.def-123'],
    ['header authorization=Basic dXNlcjpwYXNz failed', 'dXNlcjpwYXNz'],
    ['fetch https://user:pass@host.test/v1 failed', 'user:pass'],
    ['fetch https://host.test/v1?key=AbCd1234&x=1 failed', 'AbCd1234'],
    ['"x-api-key": "abcd-efgh"', 'abcd-efgh'],
    ['api_key=abcd1234', 'abcd1234'],
    ['use gsk_A1b2C3d4E5f6', 'A1b2C3d4E5f6'],
    ['key AIzaSyA1234567890123456789012', 'SyA12345'],
    ['token eyJhbGciOi.eyJzdWIiOiIx.sig', 'eyJzdWIiOiIx'],
    ['access_token: tok-1234', 'tok-1234'],
  ])('hides the secret of %j', (text, secret) => {
    expect(clean(text)).not.toContain(secret);
    expect(clean(text)).toMatch(/redacted|host\.test/);
  });

  it.each([
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    'max_tokens: 4096 is too large',
    'Rate limit reached for model gpt-4 on tokens per min (TPM): Limit 10000, Used 9000.',
    'connect ECONNREFUSED 127.0.0.1:8080',
  ])('leaves %j as it is', (text) => {
    expect(clean(text)).toBe(text);
  });

  it('hides what it is told is secret, also as it stands in an address', () => {
    expect(clean('got p@ss/word and p%40ss%2Fword', ['p@ss/word'])).toBe('got [redacted] and [redacted]');
  });

  it('hides what a message quotes of the prompt', () => {
    const prompt = 'the patient is called Jane Doe and lives in Elm Street 7';
    const message = `cannot parse: "${prompt}" at line 1`;
    expect(clean(message, [], ['other', prompt])).toBe('cannot parse: "[prompt]" at line 1');
  });

  it('hides any part of the prompt of 48 characters and more', () => {
    const prompt = Array.from({ length: 60 }, (_, at) => `word${at}`).join(' ');
    fc.assert(
      fc.property(
        fc.nat(prompt.length - 48),
        fc.integer({ min: 48, max: 200 }),
        fc.string({ maxLength: 40 }),
        (at, length, before) => {
          const quoted = prompt.slice(at, at + length);
          expect(clean(`${before}<${quoted}>`, [], [prompt])).not.toContain(quoted.slice(24, 48));
        },
      ),
    );
  });

  it('gives one line without control characters and within its bound, whatever comes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 3_000 }),
        fc.integer({ min: 1, max: 200 }),
        (text, max) => {
          const result = scrub(text, { secrets: [] }, max);
          expect(result.length).toBeLessThanOrEqual(max);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is shown
          expect(result).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
        },
      ),
    );
  });
});

describe('a failure of a provider that says too much', () => {
  it('holds no key, header, prompt or address', async () => {
    await using server = await startSseServer();
    const prompt = 'Summarize the secret plan: we move to Lisbon on the third of May.';
    const told = `key k-secret-key-1 header blue-header-value prompt ${prompt} at ${server.origin}/v1?token=abc123`;
    const model = openaiCompatible({
      baseURL: `${server.origin}/v1`,
      model: 'm-1',
      apiKey: 'k-secret-key-1',
      headers: { 'x-team': 'blue-header-value' },
    });
    server.script(status(400, { error: { message: told } }), sse([{ error: { message: told, code: 400 } }]));
    for (let attempt = 0; attempt < 2; attempt++) {
      const { outcome } = await runStep(
        model,
        request({ messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }] }),
      );
      const shown = JSON.stringify(outcome);
      for (const secret of ['k-secret-key-1', 'blue-header-value', 'Lisbon', 'abc123'])
        expect(shown).not.toContain(secret);
      expect(shown.length).toBeLessThan(2_000);
    }
  });
});
