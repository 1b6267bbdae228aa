import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { forkPoint } from '../../src/ledger/fork-point.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { foldSession, hasResult } from '../../src/ledger/turn-facts.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { violationsOf } from '../invariants/session.ts';
import { ofType } from '../support/run-events.ts';
import { playRandomRun } from './fixtures/play-random-run.ts';
import { anyRun } from './fixtures/random-run.ts';
import { replayedTurn } from './fixtures/replayed.ts';

/** Raise it to look for rare runs; a failing one is told with its seed. */
const RUNS = Number(process.env['SWARMWRIGHT_RANDOM_RUNS'] ?? 40);

const GUARDED = ['approve', 'deny', 'edit', 'forget'];

/** An agent with the tools of random runs, which says `done` to whatever it is asked. */
function forkingAgent(entered: Set<string>) {
  const names = ['read', 'fail', 'linger', 'ignore', 'finish', ...GUARDED];
  return defineAgent({
    name: 'worker',
    instructions: 'Work.',
    model: scriptedModel({ script: () => reply().text('done') }),
    tools: names.map((name) =>
      defineTool({
        name,
        description: name,
        inputSchema: z.looseObject({}),
        needsApproval: GUARDED.includes(name),
        execute: (_, { callId }) => {
          entered.add(callId);
          return 'done again';
        },
      }),
    ),
  });
}

/** Ids without the session they belong to: those of a fork are those of its origin. */
const local = (id = '') => id.slice(id.indexOf('.'));

/** Calls of the origin that an implementation was entered for. */
function enteredIn(records: readonly LedgerRecord[]): ReadonlySet<string> {
  return new Set(ofType(records, 'tool.dispatched').map(({ call }) => local(call)));
}

interface Forked {
  readonly records: readonly LedgerRecord[];
  readonly entered: ReadonlySet<string>;
  readonly status: string;
}

async function forkEverywhere(
  ledger: Ledger,
  session: string,
  last: number,
): Promise<{ forks: readonly Forked[]; origin: readonly LedgerRecord[] }> {
  const entered = new Set<string>();
  await using runtime = createRuntime({ ledger, agents: { worker: forkingAgent(entered) } });
  const forks: Forked[] = [];
  for (let atSeq = 1; atSeq <= last; atSeq += 1) {
    entered.clear();
    const run = runtime.fork(session, { atSeq, onApproval: 'pause' });
    const { status } = await run.result;
    forks.push({
      records: await ledger.read(run.sessionId),
      entered: new Set([...entered].map(local)),
      status,
    });
  }
  return { forks, origin: await ledger.read(session) };
}

/** States of the turn, its steps and calls, by their local ids. */
function statesOf(records: readonly LedgerRecord[], turn: string) {
  const { states, misfits } = replayedTurn(records, turn);
  return { misfits, states: Object.fromEntries([...states].map(([id, state]) => [local(id), state])) };
}

describe('a fork at every fact of a random run', () => {
  it('IN-14 replays to where its origin was, goes on, and enters no call that was entered before', async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (plan) => {
        const { world } = await playRandomRun(plan);
        const origin = await world.facts();
        const before = enteredIn(origin);
        const { forks, origin: after } = await forkEverywhere(world.ledger, 'kept', origin.length);
        forks.forEach(({ records, entered, status }, at) => {
          const where = `fork at ${at + 1}, ${origin[at]?.type}`;
          const { kept, turn, last } = forkPoint(origin, at + 1);
          expect(ofType(records, 'session.opened')[0]?.data.origin, where).toEqual({
            session: 'kept',
            seq: last.seq,
            hash: last.hash,
          });
          // What was taken over is what the origin had, and its machines end where those of the origin did.
          const resumed = records.findIndex(
            ({ type, data }) =>
              type === 'turn.resumed' && data.run === ofType(records, 'turn.opened').at(-1)?.data.run,
          );
          const taken = records.slice(0, resumed).filter(({ type }) => type !== 'effect.done');
          expect(
            taken.map(({ type }) => type),
            where,
          ).toEqual(kept.map(({ type }) => type));
          const ownTurn =
            taken.find((record) => record.type === 'turn.opened' && local(record.turn) === local(turn))
              ?.turn ?? '';
          const now = statesOf(taken, ownTurn);
          expect(now.misfits, where).toEqual([]);
          expect(now.states, where).toEqual(statesOf(kept, turn).states);
          expect(
            [...entered].filter((call) => before.has(call)),
            where,
          ).toEqual([]);
          expect(violationsOf({ records }), where).toEqual([]);
          if (status === 'completed')
            expect(
              records.at(-1)?.type === 'turn.closed' || records.at(-1)?.type === 'effect.done',
              where,
            ).toBe(true);
          else expect(['paused', 'failed'], where).toContain(status);
        });
        expect(after).toEqual(origin);
      }),
      { numRuns: RUNS },
    );
  });

  it('keeps no step without its whole answer, and no call without what became of it', async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (plan) => {
        const { world } = await playRandomRun(plan);
        const origin = await world.facts();
        const calls = foldSession(origin).turns.flatMap((turn) => [...turn.calls.values()]);
        const settled = new Set(
          calls.filter(({ settled: fact }) => fact !== undefined).map(({ callId }) => callId),
        );
        for (let atSeq = 1; atSeq <= origin.length; atSeq += 1) {
          const { openTurn } = foldSession(forkPoint(origin, atSeq).kept);
          expect(openTurn).toBeDefined();
          for (const step of openTurn?.steps ?? []) expect(step.closed?.data.status).toBe('completed');
          for (const call of openTurn?.calls.values() ?? [])
            expect(hasResult(call) || !settled.has(call.callId)).toBe(true);
        }
      }),
      { numRuns: RUNS },
    );
  });
});
