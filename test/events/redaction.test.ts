import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRedactor, MASK, redactSecrets } from '../../src/events/redaction.ts';

// Put together at run time, so that no scanner takes this file for a leak.
const key = (prefix: string, rest: string) => `${prefix}${rest}`;
const RANDOM = 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6';
const JWT = `${key('eyJ', 'hbGciOiJIUzI1NiJ9')}.${key('eyJ', 'zdWIiOiIxMjM0NTY3ODkwIn0')}.${RANDOM}-_${RANDOM}`;
const PEM_BODY = Array.from({ length: 12 }, () => `${RANDOM}${RANDOM}`).join('\n');
const PEM = `-----BEGIN RSA ${'PRIVATE KEY'}-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n${PEM_BODY}\n-----END RSA ${'PRIVATE KEY'}-----`;
const SEED = `SU${'AB3CD4EF'.repeat(7)}`;

const SECRETS: readonly (readonly [name: string, text: string, secret: string])[] = [
  ['an sk key', `use ${key('sk-', RANDOM)} now`, key('sk-', RANDOM)],
  ['an sk project key', key('sk-proj-', `${RANDOM}-_${RANDOM}`), RANDOM],
  ['a key of Groq', key('gsk_', RANDOM), RANDOM],
  ['a token of a code host', `(${key('ghp_', RANDOM)})`, RANDOM],
  ['a chat token', key('xoxb-', `123-${RANDOM}`), RANDOM],
  ['a cloud key id', `id ${key('AKIA', 'ABCDEFGHIJKLMNOP')}.`, 'ABCDEFGHIJKLMNOP'],
  ['a key of Google', key('AIza', `Sy${RANDOM}`), RANDOM],
  ['a signed token', `t=${JWT};`, 'zdWIiOiIxMjM0NTY3ODkwIn0'],
  ['a bearer token', `Bearer ${RANDOM}==`, RANDOM],
  ['an authorization header', 'Authorization: Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
  ['a short header value', 'authorization: Bearer abc123', 'abc123'],
  ['an api key in JSON', '{"api_key": "hunter2-hunter2"}', 'hunter2-hunter2'],
  ['an api key in escaped JSON', '"{\\"apiKey\\":\\"hunter2hunter2\\"}"', 'hunter2hunter2'],
  ['a variable of the environment', 'OPENAI_API_KEY=abcdefgh', 'abcdefgh'],
  ['a password', 'password: correct-horse', 'correct-horse'],
  ['a token assignment', 'token=abcd1234', 'abcd1234'],
  ['a URL with a password', 'nats://alice:s3cr3t@10.0.0.1:4222/x', 's3cr3t'],
  ['a URL with a token', 'nats://s3cr3tt0ken@host', 's3cr3tt0ken'],
  ['a key in a query', 'https://x.test/v1?key=abcdef123&n=1', 'abcdef123'],
  ['a cookie header', 'Set-Cookie: sid=abc; Path=/; theme=dark', 'sid=abc'],
  ['a private key', `before\n${PEM}\nafter`, RANDOM],
  ['a cut private key', `-----BEGIN ${'PRIVATE KEY'}-----\n${PEM_BODY}`, RANDOM],
  ['a NATS seed', `seed ${SEED} end`, SEED],
  ['NATS credentials', `-----BEGIN NATS USER JWT-----\n${JWT}\n------END NATS USER JWT------\nok`, 'zdWIiOi'],
];

describe('redactSecrets', () => {
  it.each(SECRETS)('masks %s', (_, text, secret) => {
    const masked = redactSecrets(text);
    expect(masked).not.toContain(secret);
    expect(masked).toContain(MASK);
  });

  it('keeps what stands around a secret', () => {
    expect(redactSecrets(`before\n${PEM}\nafter`)).toBe(`before\n${MASK}\nafter`);
    expect(redactSecrets('nats://alice:s3cr3t@10.0.0.1:4222/x')).toBe(`nats://${MASK}@10.0.0.1:4222/x`);
    expect(redactSecrets(`{"a":1,"apiKey":"abcdefgh","b":2}`)).toBe(`{"a":1,"apiKey":"${MASK}","b":2}`);
    expect(redactSecrets(`Bearer ${RANDOM}, again`)).toBe(`Bearer ${MASK}, again`);
  });

  it.each([
    'The bearer of good news took the basic understanding for granted.',
    'max_tokens=4096 and inputTokens: 12',
    'A task-force of risk-averse people: the secret: never give up; token: a unit of text.',
    'See https://example.test/path?page=2#top and mail someone@example.test',
    'sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ])('leaves ordinary text alone: %s', (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  it('masks nothing more the second time', () => {
    for (const [, text] of SECRETS) expect(redactSecrets(redactSecrets(text))).toBe(redactSecrets(text));
  });

  it.each([
    ['eyJ', 'eyJ'],
    ['eyJAAAAAAAAAAAAAAAAA.', ''],
    ['://', ''],
    ['://a', ''],
    ['a://b:', ''],
    ['-----BEGIN PRIVATE KEY-----', ''],
    ['-----BEGIN ', ''],
    ['-----', ''],
    ['- ', ''],
    ['bearer ', ''],
    ['bearer        ', ''],
    ['token=', ''],
    ['password:', ''],
    ['cookie: ', ''],
    ['?key=', ''],
    ['sk-', ''],
    ['SU', 'A'],
    ['\\\\\\"', ''],
  ])('takes linear time for %j repeated', (unit, end) => {
    const timeOf = (times: number) => {
      const text = unit.repeat(times / unit.length) + end;
      const began = performance.now();
      redactSecrets(text);
      return performance.now() - began;
    };
    timeOf(1_000);
    // A quadratic expression needs minutes for this; a linear one some milliseconds.
    expect(timeOf(2_000_000)).toBeLessThan(3_000);
  });
});

describe('createRedactor', () => {
  it('masks registered secrets in every spelling', () => {
    const secret = 'pa"ss wörd';
    const redactor = createRedactor({ secrets: [secret] });
    for (const text of [
      `x${secret}y`,
      JSON.stringify({ note: secret }),
      `q=${encodeURIComponent(secret)}&r`,
    ]) {
      expect(redactor.text(text)).not.toContain('ss w');
      expect(redactor.text(text)).not.toContain('ss%20w');
      expect(redactor.text(text)).toContain(MASK);
    }
  });

  it('joins registered secrets that overlap', () => {
    expect(createRedactor({ secrets: ['abcdef', 'defghi'], shapes: false }).text('>abcdefghi<')).toBe(
      `>${MASK}<`,
    );
  });

  it('refuses a secret too short to mask', () => {
    expect(() => createRedactor({ secrets: ['abc'] })).toThrow(
      expect.objectContaining({ code: 'invalid-definition' }),
    );
  });

  it('masks values by what their key says, and names the places', () => {
    const places: string[] = [];
    const masked = createRedactor({ secrets: ['hunter22'] }).value(
      {
        'X-Api-Key': 'x',
        list: [1, 'say hunter22'],
        'a/b': { password: 'p', passwordHint: 'pet' },
        secret: 5,
      },
      (pointer) => places.push(pointer),
    );
    expect(masked).toEqual({
      'X-Api-Key': MASK,
      list: [1, `say ${MASK}`],
      'a/b': { password: MASK, passwordHint: 'pet' },
      secret: 5,
    });
    expect(places).toEqual(['/X-Api-Key', '/list/1', '/a~1b/password']);
  });

  it('masks secrets in key names and keeps hostile keys as data', () => {
    const input: Record<string, string> = JSON.parse('{"__proto__":"x","hunter22":"y"}');
    const masked = createRedactor({ secrets: ['hunter22'] }).value(input);
    expect(Object.keys(masked)).toEqual(['__proto__', MASK]);
    expect(Object.getPrototypeOf(masked)).toBe(Object.prototype);
  });

  it('masks nesting too deep to walk', () => {
    let deep: Record<string, unknown> = { secret: 'x' };
    for (let level = 0; level < 5_000; level += 1) deep = { deep };
    // A chain of plain objects is JSON.
    const masked = createRedactor().value(deep as { deep: string });
    expect(JSON.stringify(masked)).toContain(MASK);
  });
});

describe('redaction stream', () => {
  const words = fc.constantFrom(
    'hello ',
    'a ',
    '\n',
    'task-',
    'x'.repeat(300),
    'one, two; ',
    '"',
    '-',
    '.',
    ' ',
  );
  const secretTexts = fc.constantFrom(...SECRETS.map(([, text]) => text));
  const longSecret = fc.constantFrom(
    key('sk-', RANDOM.repeat(40)),
    `${JWT}${RANDOM.repeat(30)}`,
    PEM + PEM_BODY,
  );
  const texts = fc
    .array(fc.oneof(words, secretTexts, longSecret), { maxLength: 12 })
    .map((parts) => parts.join(' '));
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 });

  const streamed = (text: string, pieces: readonly number[], redactor = createRedactor()) => {
    const stream = redactor.stream();
    let out = '';
    for (let at = 0, turn = 0; at < text.length; turn += 1) {
      const size = pieces[turn % pieces.length] ?? 1;
      out += stream.push(text.slice(at, at + size));
      at += size;
    }
    return out + stream.flush();
  };

  it('shows the same whatever the pieces', () => {
    fc.assert(
      fc.property(texts, sizes, (text, pieces) => {
        expect(streamed(text, pieces)).toBe(redactSecrets(text));
      }),
      { numRuns: 300 },
    );
  });

  it('finds a registered secret longer than the carry across pieces', () => {
    const secret = 'the quick brown fox '.repeat(40);
    const redactor = createRedactor({ secrets: [secret] });
    const out = streamed(`before ${secret} after`, [7], redactor);
    expect(out).toBe(`before ${MASK} after`);
  });

  it('holds back no more than the carry', () => {
    const stream = createRedactor().stream();
    let behind = 0;
    let most = 0;
    for (let turn = 0; turn < 1_000; turn += 1) {
      behind += 10 - stream.push('lorem ips ').length;
      most = Math.max(most, behind);
    }
    expect(most).toBeLessThanOrEqual(266);
  });

  it('is ready for a second text after a flush', () => {
    const stream = createRedactor().stream();
    stream.push(`tail ${key('sk-', RANDOM.repeat(20))}`);
    stream.flush();
    expect(stream.push('plain') + stream.flush()).toBe('plain');
  });
});
