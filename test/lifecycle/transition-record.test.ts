import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_META_CHARS, type TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { recordingHost, startCall, startStep, startTurn } from './instances.ts';

const SECRET = 'sk-live-0123456789';

function lastOf(records: readonly TransitionRecord[]): TransitionRecord {
  const last = records.at(-1);
  if (last === undefined) throw new Error('nothing was recorded');
  return last;
}

describe('a transition record', () => {
  it('carries ids and counters, flat and JSON-safe', () => {
    const { host, records } = recordingHost();
    startTurn(host).send({ type: 'OPENED' });
    expect(JSON.parse(JSON.stringify(lastOf(records)))).toEqual({
      v: 1,
      seq: 2,
      at: Date.UTC(2026, 0, 1),
      kind: 'turn',
      machineId: 'turn',
      id: 's-1.1',
      rootId: 's-1',
      session: 's-1',
      turn: 's-1.1',
      from: 'opening',
      to: 'projecting',
      event: 'OPENED',
      hook: 'onTurnOpened',
      meta: {
        stepIndex: 1,
        maxSteps: 3,
        stepCompleted: false,
        pendingCalls: 0,
        parkedCount: 0,
        overflowUsed: false,
        stopAfterStep: false,
        pauseReason: null,
        closeReason: null,
        stopReason: null,
        failureKind: null,
      },
    });
  });

  it('is frozen throughout', () => {
    const { host, records } = recordingHost();
    startTurn(host);
    expect(Object.isFrozen(lastOf(records))).toBe(true);
    expect(Object.isFrozen(lastOf(records).meta)).toBe(true);
  });

  it('XC-02 names turn, step and call of an instance, inherited within its session', () => {
    const { host, records } = recordingHost();
    startTurn(host);
    startStep(host);
    expect(lastOf(records)).toMatchObject({ parentId: 's-1.1', turn: 's-1.1', step: 's-1.1.1' });
    startCall(host);
    expect(lastOf(records)).toMatchObject({ turn: 's-1.1', step: 's-1.1.1', call: 's-1.1.1.0' });
  });

  it('names no turn of another session', () => {
    const { host, records } = recordingHost();
    startTurn(host);
    host.start('agent', {
      id: 's-2',
      parentId: 's-1.1',
      rootId: 's-1',
      session: 's-2',
      input: { agentId: 's-2', parentId: 's-1', maxRestarts: 0 },
    });
    expect(lastOf(records)).toMatchObject({ session: 's-2', parentId: 's-1.1' });
    expect(lastOf(records).turn).toBeUndefined();
  });

  it('leaves out reasons, which are text of a user', () => {
    const { host, records } = recordingHost();
    startTurn(host).send({ type: 'CANCEL', reason: SECRET });
    startStep(host).send({ type: 'ABORT', reason: SECRET });
    expect(JSON.stringify(records)).not.toContain(SECRET);
  });

  it('leaves out fields nobody declared', () => {
    const { host, records } = recordingHost();
    const event = { type: 'OPENED', prompt: SECRET, nested: { text: SECRET } } as const;
    startTurn(host).send(event);
    expect(JSON.stringify(records)).not.toContain(SECRET);
  });

  it('says null for a bound that is lifted', () => {
    const { host, records } = recordingHost();
    startTurn(host, 's-1.1', Number.POSITIVE_INFINITY);
    expect(lastOf(records).meta['maxSteps']).toBeNull();
  });

  it('stays under 2 KiB with every text at its longest', () => {
    const { host, records } = recordingHost();
    const long = 'x'.repeat(5_000);
    const session = 's'.repeat(64);
    const turn = `${session}.99999`;
    const call = `${turn}.99999.99999`;
    const instance = host.start('tool-call', {
      id: call,
      parentId: turn,
      rootId: session,
      session,
      input: {
        callId: call,
        stepId: `${turn}.99999`,
        toolName: '語'.repeat(5_000),
        origin: 'nested',
        recovery: 'reconcile',
      },
    });
    instance.send({ type: 'ADMITTED' });
    instance.send({ type: 'NEEDS_PERMISSION', request: long, expiresAt: Number.MAX_SAFE_INTEGER });
    instance.send({ type: 'GRANTED', request: long, edited: true });
    instance.send({ type: 'PREPARED', operationId: long });
    instance.send({ type: 'EXECUTE', reattached: true });
    instance.send({ type: 'OUTCOME_LOST', reason: long });
    for (const record of records) {
      expect(new TextEncoder().encode(JSON.stringify(record)).length).toBeLessThanOrEqual(2_048);
    }
    expect(lastOf(records).to).toBe('indeterminate');
  });

  it('cuts text between characters', () => {
    // Pairs that begin at even and at odd places, so that a cut would fall into one of them.
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
      fc.constantFrom('😀'.repeat(50), `x${'😀'.repeat(50)}`),
    );
    fc.assert(
      fc.property(text, (toolName) => {
        const { host, records } = recordingHost();
        host.start('tool-call', {
          id: 'c',
          rootId: 's-1',
          session: 's-1',
          input: { callId: 'c', stepId: 's', toolName, origin: 'model', recovery: 'replay_safe' },
        });
        const shown = String(lastOf(records).meta['toolName']);
        expect(shown.isWellFormed()).toBe(true);
        expect(shown.length).toBeLessThanOrEqual(MAX_META_CHARS);
        if (toolName.length <= MAX_META_CHARS) expect(shown).toBe(toolName);
        else expect(toolName.startsWith(shown.slice(0, -1))).toBe(true);
      }),
    );
  });
});
