import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const require = createRequire(import.meta.url);
const manifestPath = require.resolve('@modelcontextprotocol/conformance/package.json');
const { bin } = require(manifestPath) as { readonly bin: Readonly<Record<string, string>> };
const SUITE = join(dirname(manifestPath), bin['conformance'] ?? '');
const CLIENT = fileURLToPath(new URL('../programs/mcp-conformance-client.ts', import.meta.url));

/** Runs one scenario of the published suite; what it prints and how it ends. */
async function play(scenario: string) {
  const command = `"${process.execPath}" --conditions=swarmwright-source "${CLIENT}"`;
  const args = [SUITE, 'client', '--scenario', scenario, '--command', command, '--timeout', '20000'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, printed: `${stdout}${stderr}` };
}

describe('the published conformance suite', () => {
  // The others are about OAuth, which a user brings along as headers.
  it.each(['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry'])(
    'CX-05 passes its client scenario %s',
    async (scenario) => {
      const { code, printed } = await play(scenario);
      expect(printed).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed/);
      expect(code).toBe(0);
    },
    30_000,
  );
});
