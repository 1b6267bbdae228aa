import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { McpServer } from '../../src/mcp/mcp-server.ts';
import { mcpServer } from '../../src/mcp/mcp-server.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import type { OpenToolSource } from '../../src/tools/tool-source.ts';
import { mcpWorld } from '../support/mcp-world.ts';

/** A server opened without a turn around it; it goes with the test. */
function opened(server: McpServer, clock = fakeClock()) {
  const source: OpenToolSource = server.open({ clock });
  onTestFinished(() => source[Symbol.asyncDispose]());
  const { signal } = new AbortController();
  return {
    source,
    settle: () => source.settle?.(signal),
    names: () => source.tools().map(({ name }) => name),
  };
}

/** Says that the list changed, as a turn's call would. */
async function announce(source: OpenToolSource): Promise<void> {
  const tool = source.tools().find(({ name }) => name === 'world__announce');
  const ctx = { signal: new AbortController().signal, progress: () => undefined };
  // What this tool uses of its context.
  await tool?.execute({}, ctx as never);
}

const lists = (log: readonly string[]) => log.filter((line) => line === 'list').length;

describe('the list of a server', () => {
  it('CR-08 is asked for once, however often a turn comes to a boundary', async () => {
    const world = mcpWorld(['announce', 'look']);
    const { settle, names } = opened(world.server);
    for (const _ of ['first', 'second', 'third']) await settle();
    expect(names()).toEqual(['world__announce', 'world__look']);
    expect(lists(world.log())).toBe(1);
  });

  it('CR-08 is asked for once by turns that come at the same time', async () => {
    const world = mcpWorld(['look']);
    const { settle } = opened(world.server);
    await Promise.all([settle(), settle(), settle()]);
    expect(lists(world.log())).toBe(1);
    expect(world.pids()).toHaveLength(1);
  });

  it('CR-08 that changes replaces what it changes, and leaves every other tool the same', async () => {
    const world = mcpWorld(['announce', 'look', 'paint']);
    const { source, settle, names } = opened(world.server);
    await settle();
    const [, look, paint] = source.tools();
    const { revision } = source;
    world.offer('announce', 'look', { name: 'paint', description: 'Paints.' }, 'wash');
    await announce(source);
    expect(source.revision).toBe(revision);
    await settle();
    expect(names()).toEqual(['world__announce', 'world__look', 'world__paint', 'world__wash']);
    expect(source.tools()[1]).toBe(look);
    expect(source.tools()[2]).not.toBe(paint);
    expect(source.revision).toBeGreaterThan(revision);
  });

  it('CR-08 that cannot be had leaves what was offered before, and is asked for again', async () => {
    const clock = fakeClock();
    const world = mcpWorld(['announce', 'look'], { limits: { backoffMs: 100 } });
    const { source, settle, names } = opened(world.server, clock);
    await settle();
    world.failLists('the shelf is empty');
    await announce(source);
    await settle();
    expect(names()).toEqual(['world__announce', 'world__look']);
    await settle();
    expect(lists(world.log())).toBe(2);
    await clock.advance(100);
    await settle();
    expect(lists(world.log())).toBe(3);
  });

  it('CR-08 holds selected tools only', async () => {
    const world = mcpWorld(['look', 'paint'], { tools: ['paint', 'absent'] });
    const { settle, names } = opened(world.server);
    await settle();
    expect(names()).toEqual(['world__paint']);
  });

  it('CR-08 is not asked for where nothing is selected', async () => {
    const world = mcpWorld(['look'], { tools: [] });
    const { settle, names } = opened(world.server);
    await settle();
    expect(names()).toEqual([]);
    expect(world.log()).toEqual([]);
  });

  it('CR-08 is empty once the server is closed', async () => {
    const world = mcpWorld(['look']);
    const { source, settle, names } = opened(world.server);
    await settle();
    await source[Symbol.asyncDispose]();
    await settle();
    expect(names()).toEqual([]);
    expect(world.pids()).toHaveLength(1);
  });

  it('names a tool once and takes no more than its bound', async () => {
    const world = mcpWorld(['look', 'look', 'a', 'b', 'c'], { limits: { maxTools: 3 } });
    const { settle, names } = opened(world.server);
    await settle();
    expect(names()).toEqual(['world__look', 'world__a']);
  });
});

describe('a server that does not start', () => {
  it('CX-06 is tried again with pauses that double up to a bound', async () => {
    const clock = fakeClock();
    const folder = mkdtempSync(join(tmpdir(), 'swarmwright-starts-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const starts = join(folder, 'starts');
    writeFileSync(starts, '');
    const server = mcpServer({
      name: 'broken',
      command: process.execPath,
      args: ['-e', "require('node:fs').appendFileSync(process.argv[1], 'x')", starts],
      limits: { backoffMs: 100, maxBackoffMs: 400 },
    });
    const { settle } = opened(server, clock);
    const tried: number[] = [];
    let lastMs = 0;
    for (let ms = 0; ms <= 1_600; ms += 100) {
      const { length } = readFileSync(starts);
      await settle();
      if (readFileSync(starts).length > length) {
        tried.push(ms - lastMs);
        lastMs = ms;
      }
      await clock.advance(100);
    }
    expect(tried).toEqual([0, 100, 200, 400, 400, 400]);
  });

  it.each([
    ['has no program', { command: '/no/such/program' }],
    ['has no address', { url: 'http://127.0.0.1:9/mcp' }],
    ['ends at once', { command: process.execPath, args: ['-e', 'process.exit(3)'] }],
    ['says no protocol', { command: process.execPath, args: ['-e', 'console.log("<html>")'] }],
  ])('CX-06 offers nothing where it %s', async (_, options) => {
    const { settle, names } = opened(mcpServer({ name: 'broken', ...options }));
    await settle();
    expect(names()).toEqual([]);
  });
});

describe('the environment of a server', () => {
  it('holds what was named and nothing else of this process', async () => {
    process.env['WORLD_TOKEN'] = 'kept';
    process.env['WORLD_SECRET'] = 'left out';
    onTestFinished(() => {
      delete process.env['WORLD_TOKEN'];
      delete process.env['WORLD_SECRET'];
    });
    const world = mcpWorld(['look'], { env: { GIVEN: 'value' }, inheritEnv: ['WORLD_TOKEN'] });
    const { settle } = opened(world.server);
    await settle();
    const [, variables = ''] = world.log()[1]?.match(/^environment (.*)$/) ?? [];
    expect(variables.split(' ')).toEqual(expect.arrayContaining(['GIVEN', 'PATH', 'WORLD_TOKEN']));
    expect(variables).not.toContain('WORLD_SECRET');
    expect(variables).not.toContain('VITEST');
  });
});
