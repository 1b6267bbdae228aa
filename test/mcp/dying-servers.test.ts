import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { reply } from '../../src/testing/reply.ts';
import { servedEverything } from '../support/mcp-everything.ts';
import { mcpWorld } from '../support/mcp-world.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';
import { toolsOf } from '../support/search-turns.ts';

const done = reply().text('Done.');

describe('a server that dies', () => {
  it('CX-06 makes its call an error result, takes its tools along and comes back after a pause', async () => {
    const clock = fakeClock();
    const world = mcpWorld(['die', 'look'], { limits: { backoffMs: 500 } });
    const { model, records } = await playTurn(
      'memory',
      [
        reply().call('world__die', {}),
        reply().call('world__look', { nth: 1 }),
        reply()
          .wait(() => clock.advance(500))
          .call('world__look', { nth: 2 }),
        reply().call('world__look', { nth: 3 }),
        done,
      ],
      { agent: { tools: [world.server] }, runtime: { clock } },
    );
    expect(toolsOf(model)).toEqual([
      ['world__die', 'world__look'],
      [],
      [],
      ['world__die', 'world__look'],
      ['world__die', 'world__look'],
    ]);
    expect(lastResults(model, 1)[0]).toMatch(/The MCP server world was lost while it worked on this call/);
    expect(lastResults(model, 2)[0]).toMatch(/world__look did not run: its source has withdrawn it/);
    expect(lastResults(model, 4)).toEqual(['look done']);
    const changes = ofType(records, 'tools.changed').map(({ data }) => [
      data.added.map(({ name }) => name),
      data.withdrawn,
    ]);
    expect(changes).toEqual([
      [['world__die', 'world__look'], []],
      [[], ['world__die', 'world__look']],
      [['world__die', 'world__look'], []],
    ]);
    expect(world.pids()).toHaveLength(2);
  });

  it('CX-06 is back at once in the next turn once the pause is over', async () => {
    const world = mcpWorld(['look']);
    const again = reply().call('world__look', {});
    const { model } = await playTurn(
      'memory',
      [
        again.wait(async () => {
          const [pid = 0] = world.pids();
          process.kill(pid, 'SIGKILL');
        }),
        again,
        done,
      ],
      { agent: { tools: [world.server] } },
    );
    // The first call may find the connection gone or lose it.
    expect(lastResults(model, 1)[0]).toMatch(/MCP server world|withdrawn/);
    expect(lastResults(model, 2)).toEqual(['look done']);
  });

  it('CX-06 over HTTP is given up when it gives no sign of life, and found again', async () => {
    const clock = fakeClock();
    const served = await servedEverything({ limits: { backoffMs: 500 } });
    const hang = { duration: 3_600, steps: 36_000 };
    const { model } = await playTurn(
      'memory',
      [
        reply().call('every__trigger-long-running-operation', hang),
        reply().call('every__echo', { message: 'gone' }),
        reply()
          .wait(async () => {
            await served.start();
            await clock.advance(500);
          })
          .call('every__echo', { message: 'gone' }),
        reply().call('every__echo', { message: 'back' }),
        done,
      ],
      {
        agent: {
          tools: [served.server],
          // The server is at work on the call when it says how far it is.
          hooks: { onToolProgress: () => served.kill() },
        },
        runtime: { clock },
      },
    );
    expect(lastResults(model, 1)[0]).toMatch(/The MCP server every was lost/);
    expect(toolsOf(model)[1]).toEqual([]);
    expect(lastResults(model, 2)[0]).toMatch(/withdrawn/);
    expect(lastResults(model, 4)).toEqual(['Echo: back']);
  });
});
