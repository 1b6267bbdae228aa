import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type AnyAgent, defineAgent } from '../../src/agent/define-agent.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { connectNats } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { startWorker, type Worker } from '../../src/nats/worker.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { type Reply, reply } from '../../src/testing/reply.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { violationsOf } from '../invariants/session.ts';
import type { NatsServer } from '../support/nats-server.ts';
import { freshNamespace, openLedgerOn } from './ledger-server.ts';

/** What a script looks at of a request. */
export type Request = {
  readonly toolNames: readonly string[];
  readonly messages: readonly { role: string }[];
};

/** A provider, workers of one place each, and a runtime that gives them runs. */
export async function poolWorld(
  server: NatsServer,
  script: (request: Request) => Reply,
  agentsOf: (baseURL: string) => readonly AnyAgent[],
  workers = 1,
) {
  const provider = await scriptedServer({ script });
  onTestFinished(() => provider.close());
  const agents = Object.fromEntries(agentsOf(provider.baseURL).map((one) => [one.name, one]));
  const ns = freshNamespace();
  const connection = server.url;
  const runtimeOf = (): Runtime => {
    const pool = natsPool({ connection, ns });
    const runtime = createRuntime({ ledger: openLedgerOn(server, { ns }), agents, pool });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const runWorker = async (own: Runtime): Promise<Worker> => {
    const worker = await startWorker({ connection, ns, runtime: own, concurrency: 1 });
    onTestFinished(async () => {
      await worker.close();
      await own.close();
    });
    return worker;
  };
  const work = () => runWorker(runtimeOf());
  for (let at = 0; at < workers; at += 1) await work();
  return { provider, ns, agents, runtimeOf, work, runWorker, runtime: runtimeOf() };
}

/** Subjects of what waits in the queue of a namespace. */
export async function queueOf(server: NatsServer, ns: string): Promise<readonly string[]> {
  await using admin = connectNats(server.url);
  await admin.connected(AbortSignal.timeout(5_000));
  const question = { subjects_filter: `swm.v1.${ns}.q.turn.>` };
  const answer = await askJetStream(admin, 'STREAM.INFO.SWM_Q', question);
  const { state } = (answer.type === 'answer' ? answer.body : { state: {} }) as {
    readonly state: { readonly subjects?: object };
  };
  return Object.keys(state.subjects ?? {});
}

/** The facts of each session of a tree. */
export async function treeOf(runtime: Runtime, root: string): Promise<readonly (readonly LedgerRecord[])[]> {
  const sessions = await runtime.sessions.list({ root });
  return Promise.all(sessions.map(({ sessionId }) => runtime.sessions.read(sessionId)));
}

export async function expectSound(runtime: Runtime, root: string): Promise<void> {
  for (const records of await treeOf(runtime, root)) expect(violationsOf({ records })).toEqual([]);
}

/** The first of `names` asks the second, and so on; each has a word when it is done. */
export function asksThenTells(...names: readonly string[]) {
  return ({ toolNames, messages }: Request): Reply => {
    const isDone = messages.some(({ role }) => role === 'tool');
    const asks = names.find((name) => toolNames.includes(`ask_${name}`));
    const self = asks === undefined ? names.at(-1) : ['lead', ...names][names.indexOf(asks)];
    if (asks === undefined || isDone) return reply().text(`${self} done`).usage(10, 1);
    return reply().call(`ask_${asks}`, { task: 'Do it.' }).usage(10, 1);
  };
}

interface ChainOptions {
  readonly needsApproval?: boolean;
  readonly instructions?: string;
  readonly expiryMs?: number;
  /** A tool that the first agent allows nobody. */
  readonly deny?: string;
  readonly act?: (signal: AbortSignal) => Promise<void>;
}

/** Agents each of which may ask the next; the last one has a tool. */
export function chain(
  baseURL: string,
  names: readonly string[],
  options: ChainOptions = {},
): readonly AnyAgent[] {
  const { needsApproval = false, instructions = 'Do.', act = async () => {}, expiryMs, deny } = options;
  const limits = expiryMs === undefined ? {} : { limits: { approvals: { expiryMs } } };
  const model = openaiCompatible({ baseURL, model: 'scripted' });
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    inputSchema: z.object({ id: z.string() }),
    needsApproval,
    async execute({ id }, { signal }) {
      await act(signal);
      return `paid ${id}`;
    },
  });
  const agents: AnyAgent[] = [];
  for (const name of [...names].reverse()) {
    const below = agents[0];
    const ways = below === undefined ? { tools: [pay] } : { agents: [below] };
    const isFirst = name === names[0] && deny !== undefined;
    const policy = isFirst
      ? {
          permission: ({ toolName }: { readonly toolName: string }) =>
            toolName === deny ? ('deny' as const) : ('allow' as const),
        }
      : {};
    agents.unshift(defineAgent({ name, instructions, model, ...ways, ...limits, ...policy }));
  }
  return agents;
}
