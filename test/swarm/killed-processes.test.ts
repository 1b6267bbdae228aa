import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { startProgram } from '../support/child-process.ts';
import { ledgerPath } from '../support/ledgers.ts';
import { factsOf } from './team.ts';

const PROGRAM = 'programs/scheduling-swarm.ts';
const WORKS = ['A', 'B', 'C', 'D', 'E', 'join'];

/** Events of the tree after which the process is killed: spread over a run of about 150. */
const KILLS = [3, 14, 31, 60, 95, 115];

describe('a swarm whose process is killed', { timeout: 120_000 }, () => {
  it.each(KILLS)('GS-09 after event %i does every effect at most once, and joins once', async (count) => {
    const path = await ledgerPath();
    const effects = join(path, '..', 'effects.log');
    const first = startProgram(PROGRAM, [path, effects, 'run', `${count}`]);
    await first.ended;
    expect(first.process.signalCode).toBe('SIGKILL');
    const second = startProgram(PROGRAM, [path, effects, 'resume']);
    expect(await second.said('result ')).toBe('completed All six are done.');
    expect(await second.ended).toBe(0);

    const lines = existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : [];
    const done = lines.map((line) => line.split(' ')[0] ?? '');
    expect(new Set(done).size).toBe(done.length);
    await using ledger = await sqliteLedger({ path });
    for (const type of ['graph.claimed', 'node.started', 'node.finished'] as const) {
      expect((await factsOf(ledger, type)).map(({ data }) => data.work)).toHaveLength(WORKS.length);
    }
    const workers = (await factsOf(ledger, 'turn.closed')).filter(({ agent }) => agent === 'worker');
    expect(workers.map(({ data }) => data.status)).toEqual(Array(WORKS.length).fill('completed'));
    expect(await ledger.listOpen()).toEqual([]);
  });
});
