import { describe, expect, it } from 'vitest';
import { createLastWords } from '../../src/mcp/last-words.ts';
import { mcpServer } from '../../src/mcp/mcp-server.ts';
import type { McpFault, StdioServerOptions } from '../../src/mcp/server-options.ts';
import { reply } from '../../src/testing/reply.ts';
import { playTurn } from '../support/played-turn.ts';

/** What is told of a server that is this program. */
async function faultsOf(
  program: string,
  options: Partial<StdioServerOptions> = {},
): Promise<readonly McpFault[]> {
  const faults: McpFault[] = [];
  const server = mcpServer({
    name: 'broken',
    command: process.execPath,
    args: ['-e', program],
    onFault: (fault) => faults.push(fault),
    ...options,
  });
  await playTurn('memory', [reply().text('Done.')], { agent: { tools: [server] } });
  return faults;
}

describe('what a server says before it dies', () => {
  it('is in the fault of one that does not start', async () => {
    const [fault] = await faultsOf("console.error('no DATABASE_URL\\nset it'); process.exit(3)");
    expect(fault).toMatchObject({
      server: 'broken',
      type: 'not-connected',
      cause: { code: 'mcp-disconnected' },
      message: expect.stringMatching(/; it wrote last: no DATABASE_URL \| set it$/),
    });
  });

  it('is whole, however late the program ends after it', async () => {
    const program = "console.error('x'.repeat(100_000)); console.error('the end'); process.exit(1)";
    const [fault] = await faultsOf(program);
    expect(fault?.message).toMatch(/x{2030} \| the end$/);
    expect(fault?.message.length).toBeLessThan(2_200);
  });

  it('does nothing in a terminal, and tells nothing it was given', async () => {
    const program =
      "console.error('\\u001b[2J\\u001b]52;c;c3RvbGVu\\u0007key ' + process.env.API + ' and ' + process.env.INHERITED); process.exit(1)";
    process.env['INHERITED'] = 'inherited-value';
    const [fault] = await faultsOf(program, { env: { API: 'given-value' }, inheritEnv: ['INHERITED'] });
    delete process.env['INHERITED'];
    expect(fault?.message).toMatch(/it wrote last: key \[redacted\] and \[redacted\]$/);
  });

  it('is not kept where it goes to the standard error of this process', async () => {
    const [fault] = await faultsOf('process.exit(1)', { stderr: 'inherit' });
    expect(fault?.message).not.toContain('it wrote last');
  });

  it('is told of one that is lost later', async () => {
    const program = `
      const { createInterface } = require('node:readline');
      createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        if (method === 'tools/list') { console.error('out of memory'); process.exit(1); }
        if (method !== 'initialize') return;
        const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'b', version: '1' } };
        console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });`;
    const faults = await faultsOf(program, { limits: { probeMs: 50 } });
    expect(faults[0]).toMatchObject({
      type: 'lost',
      message: 'the connection ended; it wrote last: out of memory',
    });
  });
});

describe('last words', () => {
  it('never begin with half of a secret', () => {
    const words = createLastWords(['a-secret-of-the-program']);
    // Its first half is beyond what is kept, or what is told, whatever came behind it.
    for (let behind = 2_020; behind < 2_060; behind += 1) {
      words.add(Buffer.from(`a-secret-of-the-program${'.'.repeat(behind)}`));
      expect(words.text()).not.toMatch(/gram|secret/);
    }
  });

  it('begin with no half of a character', () => {
    const words = createLastWords([]);
    words.add(Buffer.from(`${'縮'.repeat(3_000)}.`));
    expect(words.text()).toMatch(/^縮+\.$/);
  });
});
