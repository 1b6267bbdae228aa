import { setTimeout as wait } from 'node:timers/promises';
import { enqueueTurn } from '../support/enqueue.ts';
import type { Pool } from './pool.ts';
import { type Task, textOf } from './tasks.ts';

/** The session of a task, and its run. */
export const sessionOf = ({ id }: Task) => `s-${id}`;
export const runOf = ({ id }: Task) => `r-${id}`;

/** Queues a task. Tries until the queue has it, which it says once it is durable. */
export async function submit({ client, ns }: Pool, task: Task): Promise<void> {
  const turn = { ns, run: runOf(task), session: sessionOf(task), target: 'lead', input: textOf(task) };
  for (;;) {
    try {
      await enqueueTurn(client, turn);
      return;
    } catch {
      await wait(100);
    }
  }
}
