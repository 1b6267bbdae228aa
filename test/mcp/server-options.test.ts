import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { type McpServer, mcpServer } from '../../src/mcp/mcp-server.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const command = process.execPath;

describe('mcpServer', () => {
  it('is frozen data named after what it is', () => {
    const server = mcpServer({ command: 'npx', args: ['-y', '@scope/server-files', '/srv'] });
    expect(server).toMatchObject({ kind: 'tool-source', name: 'mcp:server-files' });
    expect(Object.isFrozen(server)).toBe(true);
    expect(server.toolName('read')).toBe('server-files__read');
  });

  it('owns the names that it may ever offer, and no others', () => {
    const all = mcpServer({ name: 'files', command });
    expect(['files__read', 'file__read', 'files_read', 'files'].map(all.mayOffer)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    const some = mcpServer({ name: 'files', command, tools: ['read'] });
    expect(['files__read', 'files__write'].map(some.mayOffer)).toEqual([true, false]);
  });

  it.each<[string, object, RegExp]>([
    ['nothing', {}, /command/],
    ['a command and an address', { command, url: 'http://127.0.0.1' }, /unknown field command/],
    ['a command that is a line', { command: [] }, /command/],
    ['another protocol', { url: 'ftp://127.0.0.1/' }, /url: must be an http or https URL/],
    ['a password in the address', { url: 'https://ada:sekret@example.com/' }, /url: .*headers/],
    ['a name with a double underscore', { name: 'a__b', command }, /mcpServer a__b: name/],
    ['a misspelled option', { command, enviroment: {} }, /unknown field enviroment/],
    ['a variable that is no text', { command, env: { TOKEN: 7 } }, /env\.TOKEN/],
    ['an unknown limit', { command, limits: { speed: 1 } }, /limits/],
    ['a negative limit', { command, limits: { listMs: -1 } }, /limits\.listMs/],
  ])('refuses %s, naming the field', (_, options, message) => {
    // What a JavaScript caller may write.
    const define = () => mcpServer(options as Parameters<typeof mcpServer>[0]);
    expect(define).toThrow(message);
    expect(define).toThrow(expect.objectContaining({ code: 'invalid-definition' }));
    expect(define).not.toThrow(/sekret/);
  });

  it('has two servers of one name refused by the agent', () => {
    const model = scriptedModel({ script: [] });
    const tools: readonly McpServer[] = [
      mcpServer({ name: 'a', command }),
      mcpServer({ name: 'a', command }),
    ];
    expect(() => defineAgent({ name: 'worker', instructions: '', model, tools })).toThrow(/two tool sources/);
  });
});
