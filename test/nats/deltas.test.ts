import { createRuntime, defineAgent } from 'swarmwright';
import { publishDeltas } from 'swarmwright/nats';
import { reply, scriptedModel } from 'swarmwright/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { natsSink } from '../../src/nats/nats-sink.ts';
import { isNatsMissing } from '../support/nats-server.ts';
import { clientOf, startBus, until } from './bus.ts';

const SECRET = 'sk-proj-Zx81kQpLm29sVtYw47BnRc63';
const TEXT = `The harbour is closed; the key is ${SECRET}, and the gate stays shut until the morning.`;

function saying(text: string, sinks: Parameters<typeof createRuntime>[0] = {}) {
  const model = scriptedModel({ script: [reply().text(text, { deltas: 40 })] });
  const agent = defineAgent({ name: 'speaker', instructions: 'Speak.', model });
  const runtime = createRuntime(sinks);
  onTestFinished(() => runtime.close());
  return runtime.run(agent, 'Speak.');
}

async function listening(url: string) {
  const client = clientOf(url);
  await client.connected(AbortSignal.timeout(10_000));
  const heard: { subject: string; n: number; text: string }[] = [];
  client.subscribe('swm.v1.default.dlt.>', ({ subject, data }) =>
    heard.push({ subject, ...JSON.parse(Buffer.from(data).toString()) }),
  );
  await client.flush();
  return { client, heard };
}

describe.skipIf(isNatsMissing())('text deltas on the bus', () => {
  it('are what the model said, in order, several together, without its secrets', async () => {
    const server = await startBus();
    const { client, heard } = await listening(server.url);
    const run = saying(TEXT);
    const counts = await publishDeltas({ connection: client, run });
    await until(() => heard.length === counts.sent, 'all of them');
    expect(heard.map(({ text }) => text).join('')).toBe(TEXT.replace(SECRET, '[redacted]'));
    expect(heard.map(({ n }) => n)).toEqual(heard.map((_, at) => at + 1));
    expect(heard[0]?.subject).toBe(`swm.v1.default.dlt.${run.sessionId}.${run.id}`);
    expect(counts.droppedChars).toBe(0);
    expect(counts.sent).toBeLessThan(40);
  });

  it('are published by nobody who does not ask for it', async () => {
    const server = await startBus();
    const { client, heard } = await listening(server.url);
    const run = saying(TEXT, { sinks: [natsSink({ connection: client, content: true })] });
    await run.result;
    await client.flush();
    expect(heard).toEqual([]);
  });

  it('are dropped and counted where no server is, and hold the run up no moment', async () => {
    const run = saying(TEXT);
    const counts = await publishDeltas({ connection: 'nats://127.0.0.1:9', run });
    expect((await run.result).status).toBe('completed');
    expect(counts).toEqual({ sent: 0, droppedChars: TEXT.replace(SECRET, '[redacted]').length });
  });
});
