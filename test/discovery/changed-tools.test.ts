import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/index.ts';
import { type Reply, reply } from '../../src/testing/reply.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { requestsOf } from '../support/approval-run.ts';
import { changingSource } from '../support/changing-source.ts';
import { LEDGER_KINDS, type LedgerKind, openLedger } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { eventsOf, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const done = reply().text('Done.');

interface Version {
  readonly description?: string;
  readonly field?: string;
  readonly approvalScope?: string;
}

/** A tool that asks, in one of its versions. */
function del(entries: string[], { description = 'Deletes.', field = 'note', approvalScope }: Version = {}) {
  return defineTool({
    name: 'del',
    description,
    inputSchema: z.object({ id: z.string(), [field]: z.string().optional() }),
    needsApproval: true,
    ...(approvalScope === undefined ? {} : { approvalScope }),
    execute: () => {
      entries.push(description);
      return 'deleted';
    },
  });
}

const call = () => reply().call('del', { id: '1' });

/** A session that remembers an approval of `del`, then sees another version of it in a second turn. */
async function remembering(kind: LedgerKind, then: Version, first: Version = {}, source = 'mcp:world') {
  const entries: string[] = [];
  const world = changingSource('mcp:world', [del(entries, first)]);
  const other = changingSource('mcp:other', []);
  const { agent } = scriptedAgent([call(), done, call(), done], { toolSources: [world, other] });
  const watched = watchedRuntime({ ledger: await openLedger(kind) });
  const { runtime, ledger } = watched;
  const one = runtime.run(agent, 'Go.', { sessionId: 's-pinned' });
  const [request = ''] = await requestsOf(one, 1);
  await runtime.approvals.decide(request, { decision: 'approve', scope: 'session' });
  await one.result;
  if (source === 'mcp:world') world.offer([del(entries, then)]);
  else {
    world.offer([]);
    other.offer([del(entries, then)]);
  }
  const two = runtime.run(agent, 'Go.', { sessionId: 's-pinned', onApproval: 'pause' });
  const result = await two.result;
  return { result, entries, events: await eventsOf(two), records: await ledger.read('s-pinned') };
}

describe.each(LEDGER_KINDS)('a remembered approval of a live tool (%s)', (kind) => {
  it('holds while the tool stays what it was', async () => {
    const { result, entries } = await remembering(kind, {});
    expect(result.status).toBe('completed');
    expect(entries).toHaveLength(2);
  });

  it.each([
    ['description', { description: 'Deletes all.' }],
    ['schema', { field: 'force' }],
  ])('CX-08 is asked for again where its %s changed, and the change is an event', async (_, then) => {
    const { result, entries, events, records } = await remembering(kind, then);
    expect(result).toMatchObject({ status: 'paused', reason: 'approval' });
    expect(entries).toHaveLength(1);
    const changed = events.filter((event) => event.type === 'discovery.changed');
    expect(changed.map(({ data }) => data.changed)).toEqual([['del']]);
    const hashes = ofType(records, 'permission.requested').map(({ data }) => data.schemaHash);
    expect(new Set(hashes).size).toBe(2);
    expect(ofType(records, 'tools.changed').at(-1)?.data.changed[0]?.schemaHash).toBe(hashes[1]);
  });

  it('CX-08 is asked for again where the tool shares its approvals with a family', async () => {
    const family = { approvalScope: 'files' };
    expect((await remembering(kind, family, family)).result.status).toBe('completed');
    const changed = await remembering(kind, { ...family, description: 'Deletes all.' }, family);
    expect(changed.result).toMatchObject({ status: 'paused', reason: 'approval' });
  });

  it('CR-09 is no approval of the same tool from another source', async () => {
    const { result, entries } = await remembering(kind, {}, {}, 'mcp:other');
    expect(result).toMatchObject({ status: 'paused', reason: 'approval' });
    expect(entries).toHaveLength(1);
  });
});

describe.each(LEDGER_KINDS)('a call that waits while its tool changes (%s)', (kind) => {
  async function waiting(script: readonly Reply[], decide: 'before' | 'after') {
    const entries: string[] = [];
    const world = changingSource('mcp:world', [del(entries)] as readonly Tool<unknown>[]);
    const { agent, model } = scriptedAgent(script, { toolSources: [world] });
    const { runtime, ledger } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.', { onApproval: 'pause' });
    const [request = ''] = await requestsOf(run, 1);
    await run.result;
    const approve = () => runtime.approvals.decide(request, { decision: 'approve' });
    if (decide === 'before') await approve();
    world.offer([del(entries, { description: 'Deletes all.' })]);
    const resumed = runtime.resume(agent, run.sessionId, { onApproval: 'pause' });
    const result = await resumed.result;
    return { result, entries, model, records: await ledger.read(run.sessionId) };
  }

  it.each(['before', 'after'] as const)(
    'CX-08 does not run what was decided on %s the change, and says so',
    async (decide) => {
      const { result, entries, model, records } = await waiting([call(), done], decide);
      expect(result.status).toBe('completed');
      expect(entries).toEqual([]);
      expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['tool-changed']);
      expect(lastResults(model, 1)[0]).toMatch(/del did not run: its source has changed it/);
    },
  );

  it('CX-08 asks anew when the model sends it again', async () => {
    const { result, entries } = await waiting([call(), call(), done], 'before');
    expect(result).toMatchObject({ status: 'paused', reason: 'approval' });
    expect(entries).toEqual([]);
  });
});
