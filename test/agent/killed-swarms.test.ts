import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { violationsOf } from '../invariants/session.ts';
import { ledgerPath } from '../support/ledgers.ts';
import { EFFECTS, swarmOfFive } from '../support/swarm-of-five.ts';
import { swarmOn } from '../support/swarm-run.ts';

/** How many processes are killed; each takes about a second. */
const KILLS = Number(process.env['SWARMWRIGHT_SWARM_KILLS'] ?? 4);
const SEED = Number(process.env['SWARMWRIGHT_SEED'] ?? 20_261);
/** Appends of a run that nobody kills, about. */
const APPENDS = 60;

/** A small seeded generator (mulberry32), so that a kill that fails can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const next = random(SEED);
const places = Array.from({ length: KILLS }, () => ({
  nth: 1 + Math.floor(next() * APPENDS),
  when: next() < 0.5 ? 'before' : 'after',
}));

async function runKilled(path: string, log: string, place: { nth: number; when: string }): Promise<void> {
  const program = fileURLToPath(new URL('../programs/killed-swarm.ts', import.meta.url));
  const args = [
    '--conditions=swarmwright-source',
    program,
    path,
    log,
    'swarm',
    String(place.nth),
    place.when,
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  await once(child, 'exit');
}

const linesOf = async (log: string) =>
  (await readFile(log, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');

describe('kill -9 of a run with five children', () => {
  it.each(places)(
    'at append $nth ($when): every effect at most once, nothing orphaned, nothing hangs',
    { timeout: 60_000 },
    async (place) => {
      const path = await ledgerPath();
      const log = join(dirname(path), 'effects');
      await runKilled(path, log, place);
      const before = await linesOf(log);
      const again: string[] = [];
      const play = swarmOn(await sqliteLedger({ path }));
      const isBegun = (await play.ledger.sessions()).length > 0;
      if (!isBegun) {
        expect(before).toEqual([]);
        return;
      }
      const open = await play.runtime.recover('swarm');
      const unknown = open.flatMap(({ indeterminate }) => indeterminate.map(({ callId }) => callId));
      const decided: string[] = [];
      const lead = swarmOfFive((id) => again.push(id));
      const result = await play.runtime.resume(lead, 'swarm', {
        indeterminate({ callId }) {
          decided.push(callId);
          return { settle: 'settled by hand' };
        },
      }).result;
      if (open.length === 0) expect(result).toMatchObject({ error: { kind: 'nothing-to-resume' } });
      else
        expect(result).toMatchObject({ status: 'completed', text: 'lead is done.', steps: 2, toolCalls: 5 });
      expect(decided.toSorted()).toEqual(unknown.toSorted());
      const effects = [...before, ...again];
      expect(effects.length).toBe(new Set(effects).size);
      // What nobody had entered for certain is done now; what may have been is not done again.
      expect(effects.length + unknown.length).toBeGreaterThanOrEqual(EFFECTS.length);
      expect(await play.ledger.listOpen()).toEqual([]);
      const sessions = await play.ledger.sessions('swarm');
      expect(sessions).toHaveLength(EFFECTS.length + 1);
      for (const { sessionId } of sessions) {
        expect(violationsOf({ records: await play.ledger.read(sessionId) })).toEqual([]);
      }
      expect(await play.recordsOf('child.intended')).toHaveLength(EFFECTS.length);
      expect(await play.recordsOf('child.finished')).toHaveLength(EFFECTS.length);
      if (open.length > 0) expect(result.usage.reported.inputTokens).toBeLessThanOrEqual(14 * 5);
    },
  );
});
