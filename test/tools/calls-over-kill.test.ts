import { describe, expect, it, onTestFinished } from 'vitest';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';
import { violationsOf } from '../invariants/session.ts';
import { startProgram } from '../support/child-process.ts';
import { ledgerPath } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';

describe('calls of a killed process (sqlite)', () => {
  it('T26 results that were there when the process died are kept, and only the stalled call is in doubt', async () => {
    const step = reply().call('stall', { id: 'a' }).call('pay', { id: 'b' }).call('pay', { id: 'c' });
    const server = await scriptedServer({ script: [step, reply().text('Done.')] });
    onTestFinished(() => server.close());
    const path = await ledgerPath();
    const program = startProgram('programs/paying-agent.ts', [path, server.baseURL, 's-t26']);
    const runtime = createRuntime({ ledger: sqliteLedger({ path }) });
    onTestFinished(() => runtime.close());
    await program.said('entered stall a');
    const settled = async () => ofType(await runtime.sessions.read('s-t26'), 'tool.settled');
    while ((await settled()).length < 2) await program.said('entered pay');
    await program.kill();
    expect((await settled()).map(({ data }) => data.output)).toEqual([
      { type: 'text', text: 'pay b' },
      { type: 'text', text: 'pay c' },
    ]);
    const [report] = await runtime.recover('s-t26');
    expect(report?.indeterminate.map(({ toolName }) => toolName)).toEqual(['stall']);

    const again = startProgram('programs/paying-agent.ts', [path, server.baseURL, 's-t26', 'resume']);
    const result: unknown = JSON.parse(await again.said('result'));
    expect(result).toMatchObject({
      status: 'paused',
      reason: 'indeterminate',
      calls: [{ toolName: 'stall' }],
    });
    await again.ended;
    await expect(again.said('entered')).rejects.toThrow('ended without');
    expect(server.requests).toHaveLength(1);
    expect(violationsOf({ records: await runtime.sessions.read('s-t26') })).toEqual([]);
  });
});
