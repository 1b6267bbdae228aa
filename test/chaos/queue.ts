import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { createQueueSubjects, storeTurn } from '../../src/nats/work-queue.ts';
import type { Pool } from './pool.ts';
import { runOf, sessionOf } from './submissions.ts';
import { type Task, textOf } from './tasks.ts';

const consumersSchema = z.object({ consumers: z.array(z.string()).nullish() });
const infoSchema = z.object({
  name: z.string(),
  num_ack_pending: z.number(),
  delivered: z.object({ consumer_seq: z.number(), stream_seq: z.number() }),
});
const stateSchema = z.object({ state: z.object({ messages: z.number() }) });

/** Turns in the queue, waiting or handed out. */
export async function queuedTurns({ client }: Pool): Promise<number> {
  const answer = await askJetStream(client, 'STREAM.INFO.SWM_Q');
  return answer.type === 'answer' ? stateSchema.parse(answer.body).state.messages : Number.NaN;
}

/**
 * Has the turn that was handed out last handed out once more, while the worker that has it works on: it is given back
 * in that worker's name. Does nothing where none is handed out.
 */
export async function redeliver({ client }: Pool): Promise<void> {
  const names = await askJetStream(client, 'CONSUMER.NAMES.SWM_Q');
  const [name] = names.type === 'answer' ? (consumersSchema.parse(names.body).consumers ?? []) : [];
  if (name === undefined) return;
  const answer = await askJetStream(client, `CONSUMER.INFO.SWM_Q.${name}`);
  if (answer.type === 'fault') return;
  const { num_ack_pending: pending, delivered } = infoSchema.parse(answer.body);
  if (pending === 0) return;
  const place = `1.${delivered.stream_seq}.${delivered.consumer_seq}.${Date.now()}000000.0`;
  client.publish(`$JS.ACK.SWM_Q.${name}.${place}`, Buffer.from('-NAK'));
}

/** Puts a turn into the queue as if it never had been there. Refused while it is there. */
export async function resubmit({ client, ns }: Pool, task: Task): Promise<void> {
  const [run, session] = [runOf(task), sessionOf(task)];
  const subject = createQueueSubjects({ ns }).turn('default', session);
  const turn = { v: 1 as const, run, session, target: 'lead', input: textOf(task) };
  await storeTurn(client, { subject, turn, messageId: randomUUID() });
}
