import { expect, it, onTestFinished } from 'vitest';
import { loadSdk } from '../../src/mcp/load-sdk.ts';
import { ProcessTransport } from '../../src/mcp/process-transport.ts';

const MAX_BYTES = 256 * 1_024;

it('a program that reads nothing is ended, and what waits for it is bounded', async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const transport = new ProcessTransport(await loadSdk(), {
    command: process.execPath,
    args: ['-e', 'setInterval(() => undefined, 1_000)'],
    env: {},
    secrets: [],
    cwd: undefined,
    stderr: 'ignore',
    maxMessageBytes: MAX_BYTES,
    closeMs: 50,
  });
  const closed = Promise.withResolvers<void>();
  transport.onclose = closed.resolve;
  await transport.start();
  const params = { text: 'x'.repeat(8_192) };
  const sent = Array.from({ length: 200 }, () =>
    transport.send({ jsonrpc: '2.0', method: 'notifications/x', params }),
  );
  const outcomes = await Promise.allSettled(sent);
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  expect(refused[0]).toMatchObject({ reason: { code: 'mcp-disconnected' } });
  await closed.promise;
  expect(warnings).toEqual([]);
}, 20_000);
