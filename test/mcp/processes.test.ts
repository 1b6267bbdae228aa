import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import type { McpLimits } from '../../src/limits.ts';
import { mcpServer } from '../../src/mcp/mcp-server.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { reply } from '../../src/testing/reply.ts';
import { startProgram } from '../support/child-process.ts';
import { servedEverything } from '../support/mcp-everything.ts';
import { httpWorld } from '../support/mcp-http.ts';
import { type McpWorld, mcpWorld } from '../support/mcp-world.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const GONE = { timeout: 10_000, interval: 20 };

/** A process that has ended and whose parent did not look yet counts as gone. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** The server and what it started. */
function processesOf(world: McpWorld): readonly number[] {
  return world
    .log()
    .flatMap((line) => /^(?:start|child) (\d+)$/.exec(line)?.[1] ?? [])
    .map(Number);
}

async function expectGone(pids: readonly number[]): Promise<void> {
  await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), GONE);
}

describe('the process of a server', () => {
  it.each([
    ['newer', 1],
    ['stubborn', 2],
  ] as const)('ends with its runtime, also one that is %s', async (kind, count) => {
    const world = mcpWorld(['look'], { limits: { closeMs: 100 } }, kind);
    const { agent } = scriptedAgent([reply().call('world__look', {}), reply().text('Done.')], {
      tools: [world.server],
    });
    const { runtime } = watchedRuntime();
    await runtime.run(agent, 'Go.').result;
    const pids = processesOf(world);
    expect(pids).toHaveLength(count);
    expect(pids.filter(isAlive)).toEqual(pids);
    await runtime.close();
    await expectGone(pids);
  });

  it.each(['newer', 'stubborn'] as const)('keeps no program alive, also one that is %s', async (kind) => {
    const world = mcpWorld(['look'], {}, kind);
    const host = startProgram('programs/mcp-host.ts', ['ends', ...world.args]);
    expect(await host.said('turn')).toBe('completed');
    expect(await host.ended).toBe(0);
    await expectGone(processesOf(world));
  });

  it.each([
    ['older', async () => (await servedEverything()).url],
    ['newer', async () => (await httpWorld({ hasListChanges: true })).url],
  ])('is nothing that a program waits for over HTTP, by the %s protocol', async (_, serve) => {
    const host = startProgram('programs/mcp-host.ts', ['ends', await serve()]);
    expect(await host.said('turn')).toBe('completed');
    expect(await host.ended).toBe(0);
  });

  it('does not outlive a program that is killed', async () => {
    const world = mcpWorld(['look'], {}, 'stubborn');
    const host = startProgram('programs/mcp-host.ts', ['waits', ...world.args]);
    await host.said('turn');
    const pids = processesOf(world);
    expect(pids.filter(isAlive)).toHaveLength(2);
    await host.kill();
    await expectGone(pids);
  });

  it('ends where it never shakes hands', async () => {
    const { world, source } = muteServer({ connectMs: 200, probeMs: 100, closeMs: 100 });
    await source.settle?.(new AbortController().signal);
    const spawned = world.pids();
    expect(source.tools()).toEqual([]);
    expect(spawned.length).toBeGreaterThan(0);
    await expectGone(spawned);
  });

  it('ends with its runtime while it does not shake hands', async () => {
    const { world, source } = muteServer({ closeMs: 100 });
    const settling = source.settle?.(new AbortController().signal);
    await world.logged(/^start/);
    await source[Symbol.asyncDispose]();
    await settling;
    expect(world.pids()).toHaveLength(1);
    await expectGone(world.pids());
  });
});

/** A program that says nothing, ever. */
function muteServer(limits: Partial<McpLimits>) {
  const world = mcpWorld([]);
  const [, , log = ''] = world.args;
  const say = 'echo "start $$" >> "$0"; exec "$1" -e "setInterval(() => undefined, 60_000)"';
  const args = ['-c', say, log, process.execPath];
  const source = mcpServer({ name: 'mute', command: '/bin/sh', args, limits }).open({ clock: fakeClock() });
  return { world, source };
}
