import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLineGate, type LineOptions } from '../../src/model/sse-lines.ts';
import { call, finish, text, usage } from '../support/chat-chunks.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { playReply, textOf } from '../support/run-step.ts';
import { eventLines, inPieces, raw, type SseServer, startSseServer } from '../support/sse-server.ts';

let server: SseServer;
beforeAll(async () => {
  server = await startSseServer();
});
afterAll(() => server[Symbol.asyncDispose]());
expectSilence();

const STREAM = Buffer.from(
  `: hello\r\n\n${eventLines([
    ...text('grüße 🦊', '"arguments":{"not":"these"}'),
    call({ index: 0, id: 'c', name: 'one', args: { city: 'Köln', deep: { n: 1 } } }),
    finish('tool_calls'),
    usage(),
  ])}data: [DONE]\n\ndata: rest`,
);

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const marks = [...new Set(at.map((mark) => mark % bytes.byteLength))].sort((a, b) => a - b);
  return [0, ...marks].map((start, index) => bytes.subarray(start, marks[index] ?? bytes.byteLength));
}

function passed(pieces: readonly Uint8Array[], options: Partial<LineOptions> = {}): string {
  const gate = createLineGate({ maxBytes: 1e6, maxLineBytes: 1e6, ...options });
  const out = pieces.map((piece) => gate.take(piece));
  return Buffer.concat([...out, gate.rest()].filter((piece) => piece !== undefined)).toString();
}

const cuts = fc.array(fc.nat(STREAM.byteLength - 1), { maxLength: 40 });

describe('a line gate', () => {
  it('passes the same whatever the pieces', () => {
    const whole = passed([STREAM]);
    expect(whole).toContain('"arguments":"{\\"city\\":\\"Köln\\",\\"deep\\":{\\"n\\":1}}"');
    fc.assert(
      fc.property(cuts, (at) => {
        expect(passed(cut(STREAM, at))).toBe(whole);
      }),
    );
  });

  it('passes lines it need not read as the bytes they are', () => {
    const plain = Buffer.from([100, 97, 0xff, 0xfe, 10]);
    const gate = createLineGate({ maxBytes: 100, maxLineBytes: 100 });
    expect(gate.take(plain)).toBe(plain);
  });

  it('filters the same lines whatever the pieces', () => {
    const lineFilter = (data: string) => !data.includes('grüße');
    fc.assert(
      fc.property(cuts, (at) => {
        const out = passed(cut(STREAM, at), { lineFilter });
        expect(out).not.toContain('grüße');
        expect(out).toContain('tool_calls');
        expect(out).toContain('[DONE]');
      }),
    );
  });

  it('holds a line to its bound and not a byte less', () => {
    const gate = () => createLineGate({ maxBytes: 1e6, maxLineBytes: 10 });
    expect(gate().take(Buffer.from('0123456789'))).toBeUndefined();
    const open = gate();
    open.take(Buffer.from('012345'));
    expect(() => open.take(Buffer.from('67890'))).toThrow(
      expect.objectContaining({ code: 'response-too-large' }),
    );
  });

  it('holds a response to its bound', () => {
    const gate = createLineGate({ maxBytes: 10, maxLineBytes: 100 });
    gate.take(Buffer.from('01234567\n'));
    expect(() => gate.take(Buffer.from('ab'))).toThrow(
      expect.objectContaining({ code: 'response-too-large' }),
    );
  });
});

describe('a stream of bytes', () => {
  it('is the same step wherever it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(STREAM.byteLength - 1), { maxLength: 8 }), async (at) => {
        const { outcome } = await playReply(server, inPieces(cut(STREAM, at)));
        expect(outcome).toMatchObject({ type: 'completed', finish: { reason: 'tool-calls' } });
        expect(textOf(outcome)).toBe('grüße 🦊"arguments":{"not":"these"}');
        expect(outcome.report.calls[0]?.input).toBe('{"city":"Köln","deep":{"n":1}}');
      }),
      { numRuns: 20 },
    );
  });

  it('of any kind ends in an outcome', async () => {
    const damaged = fc
      .record({ at: fc.nat(STREAM.byteLength - 1), drop: fc.nat(60), put: fc.uint8Array({ maxLength: 20 }) })
      .map(({ at, drop, put }) => Buffer.concat([STREAM.subarray(0, at), put, STREAM.subarray(at + drop)]));
    await fc.assert(
      fc.asyncProperty(fc.oneof(damaged, fc.uint8Array({ maxLength: 200 })), async (bytes) => {
        const { outcome } = await playReply(server, raw(bytes));
        expect(['completed', 'truncated', 'failed']).toContain(outcome.type);
      }),
      { numRuns: 60 },
    );
  });

  it('with a line that never ends is refused and its connection closed', async () => {
    let sent = 0;
    const closed = Promise.withResolvers<void>();
    const { outcome } = await playReply(server, (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.on('close', () => closed.resolve());
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) sent += 65_536;
      };
      response.on('drain', more);
      response.write('data: ');
      more();
    });
    expect(outcome).toMatchObject({
      type: 'failed',
      failure: { kind: 'malformed-response', detail: 'too-large', retryable: false },
    });
    await closed.promise;
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  it('longer than its bound is refused', async () => {
    const reply = raw(eventLines([...text('x'.repeat(500), 'y'.repeat(500)), finish('stop')]));
    const { outcome } = await playReply(server, reply, { maxResponseBytes: 600 });
    expect(outcome).toMatchObject({ type: 'failed', failure: { detail: 'too-large' } });
  });
});
