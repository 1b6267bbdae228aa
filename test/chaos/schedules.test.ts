import { describe, expect, it } from 'vitest';
import { brokenIn } from '../invariants/swarm.ts';
import { isNatsMissing } from '../support/nats-server.ts';
import { playSchedule } from './play.ts';
import { scheduleOf } from './schedule.ts';
import { slowness } from './slow-disk.ts';

const LEASE_SECONDS = 2;
const BOUNDS = { lengthMs: 4_000, leaseMs: LEASE_SECONDS * 1_000, workers: 3, tasks: 8, faults: 6 };

/** `SWARMWRIGHT_CHAOS_SCHEDULES` = how many, from the seed `SWARMWRIGHT_CHAOS_SEED` on. */
const count = Number(process.env['SWARMWRIGHT_CHAOS_SCHEDULES'] ?? 3);
const first = Number(process.env['SWARMWRIGHT_CHAOS_SEED'] ?? 1);
const seeds = Array.from({ length: count }, (_, at) => first + at);

describe.skipIf(isNatsMissing())(`a swarm whose processes and disk fail (a slow disk by ${slowness})`, () => {
  it.each(seeds)(
    'NB-12 NB-13 NB-16 keeps every invariant, by the schedule of seed %i',
    {
      timeout: 180_000,
    },
    async (seed) => {
      const schedule = scheduleOf(seed, BOUNDS);
      const { checks, unsettled } = await playSchedule(schedule, LEASE_SECONDS);
      const again = `again: SWARMWRIGHT_CHAOS_SEED=${seed} SWARMWRIGHT_CHAOS_SCHEDULES=1 npx vitest run test/chaos/schedules.test.ts`;
      expect([...unsettled.map((id) => `${id} has no end`), ...brokenIn(checks)], again).toEqual([]);
    },
  );
});
