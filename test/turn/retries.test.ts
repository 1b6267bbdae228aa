import { describe, expect, it } from 'vitest';
import type { Run } from '../../src/agent/run.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { fromAiSdk } from '../../src/model/from-ai-sdk.ts';
import type { StreamPart } from '../../src/model/language-model.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { failure, httpResponse, reply, resetConnection } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { fakeModel, streamOf } from '../support/fake-language-model.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { FINISH } from '../support/stream-parts.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const overloaded = failure({ kind: 'overloaded' });

/** Lets every backoff of a run pass as soon as it begins, and tells how long each was. */
async function passBackoffs(run: Run, clock: FakeClock): Promise<readonly number[]> {
  const delays: number[] = [];
  for await (const event of run.events()) {
    if (event.type !== 'attempt.retry-scheduled') continue;
    delays.push(event.data.delayMs);
    await clock.whenPending();
    const [due = 0] = clock.due();
    expect(due - clock.now()).toBeCloseTo(event.data.delayMs, 3);
    await clock.advanceToNext();
  }
  return delays;
}

async function playWithClock(script: readonly ScriptedResponse[], random = Math.random) {
  const clock = fakeClock();
  const { server, agent } = await servedAgent(script);
  const { runtime, misfits, ledger } = watchedRuntime({ clock, random });
  const run = runtime.run(agent, 'Go.');
  const delays = await passBackoffs(run, clock);
  const result = await run.result;
  expect(misfits).toEqual([]);
  return { result, delays, server, records: await ledger.read(run.sessionId) };
}

describe('attempts and backoff', () => {
  it('MA-11 a step makes ten attempts, each delay between its base and a quarter more', async () => {
    const { result, delays, server } = await playWithClock(Array.from({ length: 10 }, () => overloaded));
    const bases = [1, 2, 4, 8, 16, 32, 32, 32, 32].map((seconds) => seconds * 1_000);
    expect(delays).toHaveLength(bases.length);
    for (const [at, base] of bases.entries()) {
      expect(delays[at]).toBeGreaterThanOrEqual(base);
      expect(delays[at]).toBeLessThanOrEqual(base * 1.25);
    }
    expect(server.requests).toHaveLength(10);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'overloaded' } });
  });

  it.each([
    [0, 1_000],
    [1, 1_250],
  ])('MA-11 jitter of %d makes the first delay %d ms', async (random, delayMs) => {
    const { delays } = await playWithClock([overloaded, reply().text('Done.')], () => random);
    expect(delays).toEqual([delayMs]);
  });

  it('MA-11 Retry-After is waited for to the millisecond, on 429 and on 503', async () => {
    const { result, delays } = await playWithClock([
      failure({ kind: 'rate-limited', retryAfterMs: 7_000 }),
      failure({ kind: 'overloaded', retryAfterMs: 45_000 }),
      reply().text('Done.'),
    ]);
    expect(delays).toEqual([7_000, 45_000]);
    expect(result.status).toBe('completed');
  });

  it('MA-11 a 429 that names no time is retried once', async () => {
    const limited = failure({ kind: 'rate-limited' });
    const { result, delays, server } = await playWithClock([limited, limited]);
    expect(delays).toHaveLength(1);
    expect(server.requests).toHaveLength(2);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'rate-limited', status: 429 } });
  });

  it('MA-11 a Retry-After that cannot be read is the end', async () => {
    const { result, server } = await playWithClock([
      httpResponse(429, { error: { message: 'slow down' } }, { 'retry-after': 'in a while' }),
    ]);
    expect(server.requests).toHaveLength(1);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'rate-limited' } });
  });

  it('MA-11 a Retry-After beyond the bound ends the step instead of waiting', async () => {
    const retryAfterMs = DEFAULT_LIMITS.attempts.maxRetryAfterMs + 1_000;
    const { result, server } = await playWithClock([failure({ kind: 'overloaded', retryAfterMs })]);
    expect(server.requests).toHaveLength(1);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'overloaded', retryAfterMs } });
  });

  it('MA-11 each step has its own attempts and begins at the shortest delay', async () => {
    const { result, delays, records } = await playWithClock(
      [
        overloaded,
        overloaded,
        reply().call('nothing', {}),
        failure({ kind: 'rate-limited' }),
        overloaded,
        reply().text('Done.'),
      ],
      () => 0,
    );
    expect(delays).toEqual([1_000, 2_000, 1_000, 2_000]);
    expect(ofType(records, 'step.closed').map(({ data }) => data.attempts)).toEqual([3, 3]);
    expect(result).toMatchObject({ status: 'completed', steps: 2 });
  });

  it.each([
    ['a reset connection', resetConnection(), 2],
    ['408', httpResponse(408), 2],
    ['409', httpResponse(409), 2],
    ['500', httpResponse(500), 2],
    ['400', httpResponse(400), 1],
    ['401', httpResponse(401), 1],
    ['404', httpResponse(404), 1],
  ])('MA-11 after %s', async (_title, response, requests) => {
    const { server } = await playWithClock([response, reply().text('Done.')]);
    expect(server.requests).toHaveLength(requests);
  });
});

const broken = {
  type: 'error',
  error: Object.assign(new Error('the connection broke'), { code: 'ECONNRESET' }),
} as const;

/** What an attempt may have shown before it broke, as a provider package tells it. */
const SHOWN: readonly [string, readonly StreamPart[]][] = [
  ['text', [{ type: 'text-delta', id: 't', delta: 'Hel' }]],
  ['thinking', [{ type: 'reasoning-delta', id: 'r', delta: 'Hm' }]],
  ['tool input', [{ type: 'tool-input-start', id: 'c', toolName: 'work' }]],
  ['a tool call', [{ type: 'tool-call', toolCallId: 'c', toolName: 'work', input: '{"id":"a"}' }]],
  [
    'input of a tool the provider runs',
    [{ type: 'tool-input-start', id: 'c', toolName: 'web', providerExecuted: true }],
  ],
  [
    'signed metadata',
    [
      { type: 'reasoning-start', id: 'r', providerMetadata: { maker: { signature: 's3al' } } },
      { type: 'reasoning-end', id: 'r' },
    ],
  ],
  ['an item only the provider understands', [{ type: 'custom', kind: 'maker.thing' }]],
];

describe('what forbids a retry', () => {
  it.each(SHOWN)('MA-12 an attempt that showed %s is not made again', async (_title, parts) => {
    const sdk = fakeModel(() => streamOf([...parts, broken]));
    const { agent } = scriptedAgent([], {
      tools: [createToolSpy().tool('work')],
      limits: { attempts: { baseDelayMs: 0 } },
    });
    const { runtime, ledger, misfits } = watchedRuntime();
    const run = runtime.run({ ...agent, model: fromAiSdk(sdk) }, 'Go.');
    const result = await run.result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'network' } });
    expect(sdk.calls).toHaveLength(1);
    expect(ofType(await ledger.read(run.sessionId), 'attempt.failed')).toMatchObject([
      { data: { attempt: 1, retryable: false } },
    ]);
    expect(misfits).toEqual([]);
  });

  it('MA-12 an attempt that showed nothing is made again', async () => {
    let asked = 0;
    const sdk = fakeModel(() => {
      asked += 1;
      return asked === 1
        ? streamOf([{ type: 'stream-start', warnings: [] }, broken])
        : streamOf([{ type: 'text-delta', id: 't', delta: 'Hello.' }, FINISH]);
    });
    const { agent } = scriptedAgent([], { limits: { attempts: { baseDelayMs: 0 } } });
    const { runtime } = watchedRuntime();
    const result = await runtime.run({ ...agent, model: fromAiSdk(sdk) }, 'Go.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Hello.' });
  });
});
