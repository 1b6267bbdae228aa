import {
  createRuntime,
  defineAgent,
  defineTool,
  memoryLedger,
  openaiCompatible,
  SwarmError,
} from 'swarmwright';
import { stately } from 'swarmwright/inspect';
import { turnMachine } from 'swarmwright/machines';
import { type CommandReply, natsSink, sendCommand, subscribe } from 'swarmwright/nats';
import { scriptedServer } from 'swarmwright/testing';
import { z } from 'zod';

// Compiled against the packed declarations only: what a user's editor sees has to be typed as promised.

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

export const weather = defineTool({
  name: 'weather',
  description: 'Weather of a city.',
  inputSchema: z.object({ city: z.string(), days: z.number().default(1) }),
  execute: (input, ctx) => {
    holds<Equal<typeof input, { city: string; days: number }>>();
    holds<Equal<typeof ctx.signal, AbortSignal>>();
    return `${input.city}: ${input.days}`;
  },
});

export const forecaster = defineAgent({
  name: 'forecaster',
  instructions: 'Answer with the weather.',
  model: openaiCompatible({ baseURL: 'http://127.0.0.1:9/v1', model: 'any' }),
  tools: [weather],
  output: z.object({ summary: z.string() }),
});

export async function ask(question: string): Promise<string> {
  await using runtime = createRuntime({ agents: { forecaster }, ledger: memoryLedger() });
  const result = await runtime.run(forecaster, question).result;
  switch (result.status) {
    case 'completed':
      holds<Equal<typeof result.output, { summary: string }>>();
      return result.output.summary;
    case 'paused':
      return `${result.approvals.length} to decide`;
    case 'failed':
      return result.error.kind;
    case 'cancelled':
      return result.reason;
    default:
      throw new SwarmError('invalid-input', result satisfies never);
  }
}

export const machines = [turnMachine.id, typeof scriptedServer, typeof stately] as const;

/** Follows what a bus has of one session, and stops it. */
export async function follow(connection: string, session: string): Promise<CommandReply> {
  const sink = natsSink({ connection, content: ['tool'] });
  holds<Equal<typeof sink.name, string>>();
  for await (const item of subscribe({ connection, session, from: 'start' })) {
    if (item.type !== 'event' || item.event.type !== 'tool.called') continue;
    holds<Equal<typeof item.event.data.toolName, string>>();
    break;
  }
  return sendCommand({ connection, session, verb: 'cancel', body: { reason: 'seen enough' } });
}
