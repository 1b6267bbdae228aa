import fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { AppendResult, Ledger, LedgerWriter, PositionedRecord } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { LedgerRecord, NewRecord } from '../../src/ledger/records.ts';
import {
  dispatched,
  note,
  rootSession,
  settled,
  take,
  turnClosed,
  turnOpened,
} from '../../src/testing/ledger-samples.ts';
import { type LedgerFolder, ledgerFolder } from './ledger-folder.ts';

/** Runs, each of a sequence of commands; more of them by the environment. */
const RUNS = Number(process.env['SWARMWRIGHT_MODEL_RUNS'] ?? 12);
const clock = { ...systemClock, now: () => 1_000 };
const NEVER = new AbortController().signal;

type Part = {
  readonly kind: 'note' | 'open' | 'close' | 'in-turn' | 'dispatch' | 'settle';
  readonly name: string;
};

/** What is expected of a session, told without any of the code under test. */
interface SessionModel {
  epoch: number;
  held: boolean;
  parts: Part[];
}

/** All that is expected. */
type Model = Map<string, SessionModel>;

/** Both stores, and the writers each handed out. */
interface Real {
  readonly folder: LedgerFolder;
  readonly memory: Ledger;
  sqlite: Ledger;
  writers: Map<string, readonly [LedgerWriter, LedgerWriter]>;
}

const sessionName = fc.constantFrom('s-1', 's-2', 's-3');
const part: fc.Arbitrary<Part> = fc.record({
  kind: fc.constantFrom('note', 'open', 'close', 'in-turn', 'dispatch', 'settle'),
  name: fc.constantFrom('a', 'b', 'c'),
});

const commands = [
  sessionName.map((session) => new Acquire(session)),
  sessionName.map((session) => new Release(session)),
  fc
    .tuple(sessionName, fc.array(part, { maxLength: 4 }), fc.constantFrom(0, 0, 0, 0, -1, 1))
    .map(([session, parts, off]) => new Append(session, parts, off)),
  fc.tuple(sessionName, fc.integer({ min: 1, max: 12 })).map(([session, from]) => new Read(session, from)),
  fc.constant(null).map(() => new Restart()),
];

test('both stores do what a model of them says', { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (sequence) => {
      await using folder = await ledgerFolder();
      const sqlite = await folder.open({ clock });
      const real: Real = { folder, memory: memoryLedger({ clock }), sqlite, writers: new Map() };
      const model: Model = new Map();
      await fc.asyncModelRun(() => ({ model, real }), sequence);
      await expectEqual(model, real);
    }),
    { numRuns: RUNS },
  );
});

class Acquire implements fc.AsyncCommand<Model, Real> {
  readonly session: string;
  constructor(session: string) {
    this.session = session;
  }
  check(): boolean {
    return true;
  }
  async run(model: Model, real: Real): Promise<void> {
    const known = model.get(this.session) ?? { epoch: 0, held: false, parts: [] };
    const attempts = [real.memory, real.sqlite].map((ledger) => ledger.acquire(rootSession(this.session)));
    const results = await Promise.allSettled(attempts);
    expect(results.map(({ status }) => status)).toEqual(
      known.held ? ['rejected', 'rejected'] : ['fulfilled', 'fulfilled'],
    );
    if (known.held) return;
    model.set(this.session, { ...known, held: true, epoch: known.epoch + 1 });
    const [one, two] = await Promise.all(attempts);
    if (one === undefined || two === undefined) return expect.unreachable();
    real.writers.set(this.session, [one, two]);
    expect([one.epoch, one.head]).toEqual([known.epoch + 1, two.head]);
    expect(one.head.seq).toBe(known.parts.length);
  }
  toString(): string {
    return `acquire ${this.session}`;
  }
}

class Release implements fc.AsyncCommand<Model, Real> {
  readonly session: string;
  constructor(session: string) {
    this.session = session;
  }
  check(model: Readonly<Model>): boolean {
    return model.has(this.session);
  }
  async run(model: Model, real: Real): Promise<void> {
    for (const writer of real.writers.get(this.session) ?? []) await writer.release();
    const known = model.get(this.session);
    if (known !== undefined) known.held = false;
  }
  toString(): string {
    return `release ${this.session}`;
  }
}

class Append implements fc.AsyncCommand<Model, Real> {
  readonly session: string;
  readonly parts: readonly Part[];
  readonly off: number;
  constructor(session: string, parts: readonly Part[], off: number) {
    this.session = session;
    this.parts = parts;
    this.off = off;
  }
  check(model: Readonly<Model>): boolean {
    return model.has(this.session);
  }
  async run(model: Model, real: Real): Promise<void> {
    const known = model.get(this.session);
    const writers = real.writers.get(this.session);
    if (known === undefined || writers === undefined) return;
    const expected = expectedOutcome(known, this.parts, this.off);
    const batch = this.parts.map(recordOf);
    const results = await Promise.all(
      writers.map((writer) => writer.append(known.parts.length + this.off, batch)),
    );
    expect(results.map(outcomeOf)).toEqual([expected, expected]);
    expect(recordsIn(results[0])).toEqual(recordsIn(results[1]));
    if (expected === 'committed') known.parts.push(...this.parts);
  }
  toString(): string {
    const parts = this.parts.map(({ kind, name }) => `${kind} ${name}`).join(', ');
    return `append to ${this.session} at ${this.off}: ${parts}`;
  }
}

class Read implements fc.AsyncCommand<Model, Real> {
  readonly session: string;
  readonly from: number;
  constructor(session: string, from: number) {
    this.session = session;
    this.from = from;
  }
  check(): boolean {
    return true;
  }
  async run(model: Model, real: Real): Promise<void> {
    const [one, two] = await Promise.all(
      [real.memory, real.sqlite].map((ledger) => ledger.read(this.session, this.from)),
    );
    expect(two).toEqual(one);
    const count = model.get(this.session)?.parts.length ?? 0;
    expect(one).toHaveLength(Math.max(0, count - this.from + 1));
  }
  toString(): string {
    return `read ${this.session} from ${this.from}`;
  }
}

/** SQLite is closed and opened again; memory, which has nothing to come back from, gives all sessions up. */
class Restart implements fc.AsyncCommand<Model, Real> {
  check(): boolean {
    return true;
  }
  async run(model: Model, real: Real): Promise<void> {
    for (const [writer] of real.writers.values()) await writer.release();
    await real.sqlite.close();
    real.sqlite = await real.folder.open({ clock });
    // Writers of a closed ledger throw; a released one of the other store is fenced.
    real.writers = new Map();
    for (const session of model.values()) session.held = false;
  }
  toString(): string {
    return 'restart';
  }
}

async function expectEqual(model: Model, real: Real): Promise<void> {
  const [one, two] = await Promise.all(
    [real.memory, real.sqlite].map(async (ledger) => ({
      sessions: await ledger.sessions(),
      open: await ledger.listOpen(),
      tail: withoutPositions(await take(ledger.tail(0, NEVER), total(model))),
    })),
  );
  expect(two).toEqual(one);
  expect(one?.sessions.map(({ sessionId }) => sessionId).sort()).toEqual(
    [...model].flatMap(([session, { parts }]) => (parts.length > 0 ? [session] : [])).sort(),
  );
}

/** The rules, from the side of what was stored. */
function expectedOutcome({ held, parts }: SessionModel, batch: readonly Part[], off: number): string {
  if (!held) return 'fenced';
  if (off !== 0) return 'conflict';
  const before = [...parts];
  for (const one of batch) {
    const isOfTurn = one.kind === 'open' || one.kind === 'close' || one.kind === 'in-turn';
    const isClosed = before.some(({ kind, name }) => kind === 'close' && name === one.name);
    if (isOfTurn && isClosed) return 'sealed';
    before.push(one);
  }
  const all = [...parts, ...batch];
  const executions = all.filter(({ kind }) => kind === 'dispatch' || kind === 'settle');
  const distinct = new Set(executions.map(({ kind, name }) => `${kind} ${name}`));
  return distinct.size < executions.length ? 'duplicate' : 'committed';
}

function recordOf({ kind, name }: Part): NewRecord {
  switch (kind) {
    case 'note':
      return note(name);
    case 'open':
      return turnOpened(name);
    case 'close':
      return turnClosed(name);
    case 'in-turn':
      return { ...note(name), turn: name };
    case 'dispatch':
      return withoutTurn(dispatched(`op-${name}`));
    case 'settle':
      return withoutTurn(settled(`op-${name}`));
  }
}

function withoutTurn({ turn: _, ...record }: NewRecord): NewRecord {
  return record as NewRecord;
}

function outcomeOf(result: AppendResult): string {
  return result.type === 'rejected' ? result.reason : result.type;
}

function recordsIn(result: AppendResult | undefined): readonly LedgerRecord[] {
  return result?.type === 'committed' ? result.records : [];
}

function withoutPositions(items: readonly PositionedRecord[]): readonly LedgerRecord[] {
  return items.map(({ record }) => record);
}

function total(model: Model): number {
  return [...model.values()].reduce((sum, { parts }) => sum + parts.length, 0);
}
