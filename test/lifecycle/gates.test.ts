import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { GateSubjects } from '../../src/lifecycle/gate-subjects.ts';
import { createHookRunner } from '../../src/lifecycle/hook-runner.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

const call: GateSubjects['beforeToolCall'] = {
  sessionId: 's-1',
  turnId: 's-1.1',
  stepId: 's-1.1.1',
  callId: 's-1.1.1.0',
  agentPath: ['root', 'helper'],
  toolName: 'write',
  input: { path: 'a.txt', lines: ['one'] },
};

function gated(...hooks: readonly Hooks[]) {
  const clock = fakeClock();
  const runner = createHookRunner({ clock, timeouts: { gateMs: 30_000, observerMs: 5_000 } });
  const stop = new AbortController();
  const gates = runner.gates(hooks);
  const ask = (subject = call) => gates.run('beforeToolCall', subject, stop.signal);
  return { clock, runner, stop, gates, ask };
}

const later = () => Promise.resolve(undefined);

describe('gates', () => {
  it('let pass what nobody stands before', async () => {
    const { ask, gates, runner } = gated({ beforeTurn: () => ({ refuse: 'closed' }) });
    expect(gates.has('beforeToolCall')).toBe(false);
    expect(await ask()).toEqual({ type: 'allow', subject: call });
    expect(runner.stats()).toEqual({});
  });

  it('let pass the very subject where none changed it', async () => {
    const { ask, gates } = gated(
      { beforeToolCall: () => undefined },
      { beforeToolCall: async () => undefined },
    );
    expect(gates.has('beforeToolCall')).toBe(true);
    const result = await ask();
    expect(result.type === 'allow' && result.subject).toBe(call);
  });

  it('HK-02 refuse with their reason and name', async () => {
    const { ask } = gated({ name: 'policy', beforeToolCall: async () => ({ refuse: 'Not on Fridays.' }) });
    expect(await ask()).toEqual({
      type: 'refuse',
      reason: 'Not on Fridays.',
      by: 'policy.beforeToolCall',
      cause: 'refused',
    });
  });

  it('HK-02 are asked in declared order, each with what the one before left', async () => {
    const seen: unknown[] = [];
    const rename = (path: string): Hooks => ({
      beforeToolCall: async (subject) => {
        await later();
        seen.push(subject.input['path']);
        return { replace: { ...subject, input: { ...subject.input, path } } };
      },
    });
    const { ask } = gated(rename('b.txt'), rename('c.txt'));
    expect(await ask()).toEqual({
      type: 'allow',
      subject: { ...call, input: { path: 'c.txt', lines: ['one'] } },
    });
    expect(seen).toEqual(['a.txt', 'b.txt']);
    expect(call.input['path']).toBe('a.txt');
  });

  it('HK-02 are not asked any more after a refusal', async () => {
    const asked: string[] = [];
    const { ask } = gated(
      { beforeToolCall: () => ({ refuse: 'no' }) },
      { beforeToolCall: () => void asked.push('second') as undefined },
    );
    expect(await ask()).toMatchObject({ type: 'refuse', by: 'hooks0.beforeToolCall' });
    expect(asked).toEqual([]);
  });

  it('HK-02 refuse where one changes what is fixed', async () => {
    const { ask, runner } = gated({
      beforeToolCall: (subject) => ({ replace: { ...subject, toolName: 'read' } }),
    });
    expect(await ask()).toMatchObject({
      type: 'refuse',
      cause: 'forbidden-change',
      reason: 'A gate changed toolName, which is fixed.',
    });
    expect(runner.stats().beforeToolCall).toEqual({ fired: 1, failed: 1, hung: 0 });
  });

  it('HK-02 may give back an equal copy, which is no change', async () => {
    const { ask } = gated({ beforeToolCall: (subject) => ({ replace: structuredClone(subject) }) });
    const result = await ask();
    expect(result.type === 'allow' && result.subject).toBe(call);
  });

  it('HK-02 pass on a copy of what a gate gave, which it cannot change later', async () => {
    const input = { path: 'b.txt', lines: ['two'] };
    const { ask } = gated({ beforeToolCall: (subject) => ({ replace: { ...subject, input } }) });
    const result = await ask();
    input.lines.push('three');
    expect(result).toMatchObject({ type: 'allow', subject: { input: { path: 'b.txt', lines: ['two'] } } });
  });

  it('HK-03 refuse where one throws', async () => {
    const { ask, runner } = gated({
      beforeToolCall: () => {
        throw new RangeError('sk-secret');
      },
    });
    const result = await ask();
    expect(result).toMatchObject({ type: 'refuse', cause: 'threw', reason: 'A gate failed.' });
    expect(JSON.stringify(result)).not.toContain('sk-secret');
    expect(runner.stats().beforeToolCall).toEqual({ fired: 1, failed: 1, hung: 0 });
  });

  it('HK-03 refuse where one rejects', async () => {
    const { ask } = gated({ beforeToolCall: () => Promise.reject(new RangeError('no')) });
    expect(await ask()).toMatchObject({ type: 'refuse', cause: 'threw' });
  });

  it.each([
    ['false', false],
    ['null', null],
    ['a text', 'no'],
    ['an object that says nothing', {}],
    ['a refusal without a reason', { refuse: true }],
    ['a replacement that is no object', { replace: 'all' }],
  ])('HK-03 refuse where one answers with %s', async (_, answer) => {
    const { ask, runner } = gated({ beforeToolCall: () => answer as unknown as undefined });
    expect(await ask()).toMatchObject({ type: 'refuse', cause: 'threw' });
    expect(runner.stats().beforeToolCall?.failed).toBe(1);
  });

  it('HK-03 refuse where one passes its deadline, and tell it to stop', async () => {
    const signals: AbortSignal[] = [];
    const { ask, clock, runner } = gated({
      beforeToolCall: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    });
    const asked = ask();
    await clock.advance(29_999);
    expect(signals[0]?.aborted).toBe(false);
    await clock.advance(1);
    expect(await asked).toMatchObject({ type: 'refuse', cause: 'late' });
    expect(signals[0]?.aborted).toBe(true);
    expect(runner.stats().beforeToolCall).toEqual({ fired: 1, failed: 0, hung: 1 });
    expect(clock.pending).toBe(0);
  });

  it('HK-03 give each gate its own deadline', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const { ask, clock } = gated(
      { beforeToolCall: () => promise },
      { beforeToolCall: () => new Promise(() => undefined) },
    );
    const asked = ask();
    await clock.advance(29_000);
    resolve(undefined);
    await clock.advance(29_000);
    expect(clock.pending).toBe(1);
    await clock.advance(1_000);
    expect(await asked).toMatchObject({ by: 'hooks1.beforeToolCall', cause: 'late' });
  });

  it('HK-03 ignore an answer that comes after the deadline', async () => {
    const { promise, reject } = Promise.withResolvers<undefined>();
    const { ask, clock, runner } = gated({ beforeToolCall: () => promise });
    const asked = ask();
    await clock.advance(30_000);
    expect(await asked).toMatchObject({ cause: 'late' });
    reject(new RangeError('late'));
    await clock.advance(0);
    expect(runner.stats().beforeToolCall).toEqual({ fired: 1, failed: 0, hung: 1 });
  });

  it('stop waiting when the work is stopped, and leave nothing behind', async () => {
    const signals: AbortSignal[] = [];
    const { ask, clock, stop, runner } = gated({
      beforeToolCall: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    });
    const asked = ask();
    await clock.whenPending();
    stop.abort();
    expect(await asked).toMatchObject({ type: 'refuse', cause: 'stopped' });
    expect(signals[0]?.aborted).toBe(true);
    expect(clock.pending).toBe(0);
    expect(runner.stats().beforeToolCall).toEqual({ fired: 1, failed: 0, hung: 0 });
  });

  it('leave no listener and no timer once they have answered', async () => {
    const { ask, clock, stop } = gated({ beforeToolCall: later });
    await ask();
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('are not entered when the work was stopped before', async () => {
    const asked: string[] = [];
    const { ask, stop } = gated({ beforeToolCall: () => void asked.push('asked') as undefined });
    stop.abort();
    expect(await ask()).toMatchObject({ type: 'refuse', cause: 'stopped' });
    expect(asked).toEqual([]);
  });

  it('HK-04 cannot change what they were shown', async () => {
    const { ask } = gated({
      beforeToolCall: (subject) => {
        Object.assign(subject.input, { path: '/etc/passwd' });
        return undefined;
      },
    });
    expect(await ask()).toMatchObject({ type: 'refuse', cause: 'threw' });
    expect(call.input['path']).toBe('a.txt');
  });

  it('are refused as undeclared where a replacement cannot be copied', async () => {
    const input: Record<string, unknown> = {};
    input['self'] = input;
    const replace = { ...call, input } as unknown as typeof call;
    const { ask } = gated({ beforeToolCall: () => ({ replace }) });
    expect(await ask()).toMatchObject({ type: 'refuse', cause: 'threw' });
  });

  it('tell entries of one name apart', async () => {
    const pass: Hooks = { name: 'policy', beforeToolCall: () => undefined };
    const { ask } = gated(pass, { name: 'policy', beforeToolCall: () => ({ refuse: 'no' }) });
    expect(await ask()).toMatchObject({ by: 'policy1.beforeToolCall' });
  });
});
