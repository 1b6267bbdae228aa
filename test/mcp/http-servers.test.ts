import { describe, expect, it } from 'vitest';
import { mcpServer } from '../../src/mcp/mcp-server.ts';
import type { McpFault } from '../../src/mcp/server-options.ts';
import { reply } from '../../src/testing/reply.ts';
import { httpWorld } from '../support/mcp-http.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { toolsOf } from '../support/search-turns.ts';

const done = reply().text('Done.');
const look = reply().call('world__look', {});

describe('a server over HTTP', () => {
  it('CX-05 may speak the newer protocol', async () => {
    const { url, seen } = await httpWorld();
    const { model } = await playTurn('memory', [look, done], {
      agent: { tools: [mcpServer({ name: 'world', url, defer: 'never' })] },
    });
    expect(lastResults(model, 1)).toEqual(['seen']);
    expect(seen.at(-1)?.['mcp-protocol-version']).toMatch(/^2026-/);
  });

  it('CX-07 tells of a change of its list, which takes effect at a step that begins after it', async () => {
    const world = await httpWorld({ hasListChanges: true });
    const server = mcpServer({ name: 'world', url: world.url, defer: 'never' });
    let step = 0;
    const { model } = await playTurn(
      'memory',
      ({ toolNames }) => {
        step += 1;
        if (step === 1) world.add('wash');
        // The news is on its way while the turn goes on.
        return toolNames.includes('world__wash') ? done : reply().call('world__look', { step });
      },
      { agent: { tools: [server], limits: { steps: 1_000 } } },
    );
    expect(toolsOf(model)[0]).toEqual(['world__look']);
    expect(toolsOf(model).at(-1)).toEqual(['world__look', 'world__wash']);
  });

  it('gets its headers with every request, asked for anew, and no fact or event shows them', async () => {
    let token = 0;
    const { url, seen } = await httpWorld();
    const headers = async () => {
      token += 1;
      return { authorization: `Bearer sekret-${token}` };
    };
    const { records } = await playTurn('memory', [look, done], {
      agent: { tools: [mcpServer({ name: 'world', url, headers })] },
    });
    expect(seen.map(({ authorization }) => authorization)).toEqual(
      seen.map((_, at) => `Bearer sekret-${at + 1}`),
    );
    expect(seen.length).toBeGreaterThan(1);
    expect(JSON.stringify(records)).not.toContain('sekret');
  });

  it('is not followed to another address', async () => {
    const elsewhere = await httpWorld();
    const { url } = await httpWorld({
      instead(_, response) {
        response.writeHead(307, { location: elsewhere.url }).end();
        return true;
      },
    });
    const server = mcpServer({ name: 'world', url, headers: { authorization: 'Bearer sekret' } });
    const { model } = await playTurn('memory', [done], { agent: { tools: [server] } });
    expect(toolsOf(model)).toEqual([[]]);
    expect(elsewhere.seen).toEqual([]);
  });

  it('cannot fill the memory with one answer', async () => {
    const { url } = await httpWorld({ text: 'x'.repeat(100_000) });
    const server = mcpServer({
      name: 'world',
      url,
      defer: 'never',
      limits: { maxMessageBytes: 50_000, backoffMs: 0 },
    });
    const { model } = await playTurn('memory', [look, done], { agent: { tools: [server] } });
    expect(lastResults(model, 1)[0]).toMatch(/The MCP server world was lost/);
  });

  it('that refuses to answer offers nothing, and whoever wants to know is told', async () => {
    const { url } = await httpWorld({
      instead({ method }, response) {
        if (method !== 'POST') return false;
        response.writeHead(401).end('who are you?');
        return true;
      },
    });
    const faults: McpFault[] = [];
    const server = mcpServer({ name: 'world', url, onFault: (fault) => faults.push(fault) });
    const { model } = await playTurn('memory', [done], { agent: { tools: [server] } });
    expect(toolsOf(model)).toEqual([[]]);
    expect(faults[0]).toMatchObject({ server: 'world', type: 'not-connected' });
    expect(faults[0]?.message).toMatch(/401|nauthorized/);
  });
});
