import { expect, it } from 'vitest';
import { createRandom } from './random.ts';
import { scheduleOf } from './schedule.ts';

const BOUNDS = { lengthMs: 4_000, leaseMs: 2_000, workers: 3, tasks: 8, faults: 6 };

it('a seed gives the same schedule again, and another one another', () => {
  expect(scheduleOf(7, BOUNDS)).toEqual(scheduleOf(7, BOUNDS));
  expect(scheduleOf(7, BOUNDS).faults).not.toEqual(scheduleOf(8, BOUNDS).faults);
});

it('every kind of fault and of task comes up in the schedules that are played by default or a few more', () => {
  const schedules = Array.from({ length: 20 }, (_, at) => scheduleOf(at + 1, BOUNDS));
  const faults = new Set(schedules.flatMap((one) => one.faults.map(({ fault }) => fault.type)));
  const tasks = new Set(schedules.flatMap((one) => one.tasks.map(({ task }) => task.kind)));
  expect([...faults].sort()).toEqual([
    'broker',
    'end',
    'freeze',
    'kill',
    'redeliver',
    'resubmit',
    'slow-disk',
  ]);
  expect([...tasks].sort()).toEqual(['approval', 'children', 'long', 'tools']);
});

it('random numbers stay within their bounds and reach both', () => {
  const random = createRandom(1);
  const drawn = Array.from({ length: 1_000 }, () => random.between(3, 6));
  expect([Math.min(...drawn), Math.max(...drawn)]).toEqual([3, 6]);
});
