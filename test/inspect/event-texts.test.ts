import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createProjector } from '../../src/events/event-projector.ts';
import { createEventTexts } from '../../src/inspect/event-texts.ts';
import type { PositionedRecord } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';

/** A ledger of some turns, in the order of its facts, and the event of each as it is written for one reader alone. */
async function writtenLedger(turns: number) {
  const ledger = await memoryLedger();
  const runtime = createRuntime({ ledger });
  const { agent } = scriptedAgent(() => reply().text('Done.'), { name: 'clerk' });
  for (let turn = 0; turn < turns; turn += 1) {
    await runtime.run(agent, `Number ${turn}.`, turn % 2 === 0 ? {} : { sessionId: 's-kept' }).result;
  }
  const facts: PositionedRecord[] = [];
  const upTo = await ledger.position();
  for await (const fact of ledger.tail(0, AbortSignal.timeout(10_000), { upTo })) facts.push(fact);
  const alone = createProjector(ledger);
  const texts: (string | undefined)[] = [];
  for (const fact of facts) texts.push(textOf(await alone.project(fact)));
  return { ledger, facts, texts };
}

const textOf = (event: object | undefined) => (event === undefined ? undefined : JSON.stringify(event));

it('gives every viewer the same events, wherever each begins and however far apart they are', async () => {
  const { ledger, facts, texts } = await writtenLedger(100);
  expect(facts.length).toBeGreaterThan(600);
  const viewers = fc.array(
    fc.record({ start: fc.nat(facts.length - 1), stride: fc.integer({ min: 1, max: 400 }) }),
    {
      minLength: 1,
      maxLength: 4,
    },
  );
  await fc.assert(
    fc.asyncProperty(viewers, async (plan) => {
      const writerOf = createEventTexts(ledger, {});
      const readers = plan.map(({ start, stride }) => ({ at: start, stride, write: writerOf() }));
      // In turns: each reads on by its own stride, so that they overtake each other and fall behind.
      while (readers.some(({ at }) => at < facts.length)) {
        await Promise.all(
          readers.map(async (reader) => {
            const end = Math.min(facts.length, reader.at + reader.stride);
            for (; reader.at < end; reader.at += 1) {
              const fact = facts[reader.at];
              if (fact !== undefined) expect(await reader.write(fact)).toBe(texts[reader.at]);
            }
          }),
        );
      }
    }),
    { numRuns: 40 },
  );
});

it('writes an event once for viewers that are about as far, and again where that failed', async () => {
  const { facts } = await writtenLedger(1);
  let reads = 0;
  const broken = {
    read: async () => {
      reads += 1;
      throw new Error('not now');
    },
  };
  const writerOf = createEventTexts(broken, {});
  const [one, other] = [writerOf(), writerOf()];
  // The middle of a session: its beginning has to be looked up, which fails.
  const middle = facts.find(({ record }) => record.seq === 3) ?? facts[0];
  if (middle === undefined) throw new Error('no fact');
  await expect(one(middle)).rejects.toThrow('not now');
  await expect(other(middle)).rejects.toThrow('not now');
  expect(reads).toBe(2);
});
