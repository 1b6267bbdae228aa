import { expect, it } from 'vitest';
import { isSessionId, newSessionId } from '../../src/ids.ts';
import { createGate } from '../../src/testing/gate.ts';
import { sequentialIds } from '../../src/testing/sequential-ids.ts';

it('holds all who come until it opens', async () => {
  const gate = createGate();
  const passed: string[] = [];
  const all = ['a', 'b'].map(async (name) => {
    await gate.pass();
    passed.push(name);
  });
  await gate.reached;
  expect([gate.waiting, gate.isOpen, passed]).toEqual([2, false, []]);
  gate.open();
  await Promise.all(all);
  await gate.pass();
  expect([gate.waiting, gate.isOpen, passed]).toEqual([0, true, ['a', 'b']]);
});

it('lets an aborted waiter go', async () => {
  const gate = createGate();
  const controller = new AbortController();
  const waiting = gate.pass(controller.signal);
  controller.abort();
  await waiting;
  await gate.pass(controller.signal);
  expect([gate.waiting, gate.isOpen]).toEqual([0, false]);
});

it('counts ids by kind', () => {
  const ids = sequentialIds();
  expect([ids.next('session'), ids.next('run'), ids.next('session')]).toEqual([
    'session0001',
    'run0001',
    'session0002',
  ]);
  expect(isSessionId(newSessionId(ids))).toBe(true);
});
