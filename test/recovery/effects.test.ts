import { describe, expect, it } from 'vitest';
import type { EffectContext, Hooks } from '../../src/lifecycle/hooks.ts';
import { reply } from '../../src/testing/reply.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { crashedRun } from './fixtures/crashed-run.ts';

/** Effects of a process that dies before they are done, and of one that does them. */
function twoLives() {
  const begun: string[] = [];
  const done: string[] = [];
  const name = 'bookkeeping';
  const dies: Hooks = {
    name,
    afterToolCall: (_, { id }) => {
      begun.push(id);
      return new Promise(() => {});
    },
    afterTurn: () => new Promise(() => {}),
  };
  const finish = (_: unknown, { id }: EffectContext) => void done.push(id);
  return { begun, done, dies, lives: { name, afterToolCall: finish, afterTurn: finish } satisfies Hooks };
}

describe.each(LEDGER_KINDS)('effects over a crash (%s)', (kind) => {
  it('run again with the id of their fact, when their turn is taken up', async () => {
    const { begun, done, dies, lives } = twoLives();
    const { agent, ledger, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [reply().call('read', { id: 'a' }), reply().text('Done.')],
      agent: { hooks: dies },
      crash: { record: 'attempt.started', when: 'after', skip: 1 },
    });
    expect(begun).toHaveLength(1);
    const { runtime } = restart();
    await runtime.resume({ ...agent, hooks: lives }, 'kept').result;
    // Effects run beside their turn: they are done when the runtime has closed.
    await runtime.close();
    const records = await ledger.read('kept');
    const settled = ofType(records, 'tool.settled').map(({ id }) => id);
    const closed = ofType(records, 'turn.closed').map(({ id }) => id);
    expect(begun).toEqual(settled);
    expect(done).toEqual([...settled, ...closed]);
    expect(ofType(records, 'effect.done').map(({ data }) => data.fact)).toEqual(done);
  });

  it('of the last turn are done before the next one opens, and only once', async () => {
    const { done, dies, lives } = twoLives();
    const { agent, ledger, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [reply().text('One.'), reply().text('Two.'), reply().text('Three.')],
      agent: { hooks: dies },
      crash: { record: 'turn.closed', when: 'after' },
    });
    const { runtime } = restart();
    const living = { ...agent, hooks: lives };
    await runtime.run(living, 'Second.', { sessionId: 'kept' }).result;
    await runtime.run(living, 'Third.', { sessionId: 'kept' }).result;
    await runtime.close();
    const records = await ledger.read('kept');
    const closed = ofType(records, 'turn.closed').map(({ id }) => id);
    expect(closed).toHaveLength(3);
    expect(done).toEqual(closed);
    const [first] = ofType(records, 'effect.done');
    const [, second] = ofType(records, 'turn.opened');
    expect(first?.seq).toBeLessThan(second?.seq ?? 0);
  });
});
