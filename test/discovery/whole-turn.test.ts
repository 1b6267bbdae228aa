import { describe, expect, it } from 'vitest';
import { failure, reply } from '../../src/testing/reply.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { activationsOf, deferredTool, deferredTools, toolsOf } from '../support/search-turns.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const SESSION = 's-whole-turn';
const FOUND = ['look', 'tool_search', 'paint_fence', 'call_taxi'];

describe('one turn with every kind of tool', () => {
  it('TS-13 keeps direct, client and found tools through parallel calls and a retry, and drops them at its end', async () => {
    const { agent, model } = scriptedAgent(
      [
        reply()
          .call('tool_search', { query: 'fence' })
          .call('look', {})
          .call('tool_search', { query: 'taxi' }),
        failure({ kind: 'overloaded' }),
        reply().call('call_taxi', {}).call('paint_fence', {}).call('look', {}),
        reply().text('Done.'),
        reply().text('Again.'),
      ],
      { tools: [deferredTool('look', { defer: 'never' }), ...deferredTools('paint_fence', 'wash_car')] },
    );
    const { runtime, ledger, misfits } = watchedRuntime({ limits: { attempts: { baseDelayMs: 0 } } });
    const run = () =>
      runtime.run(agent, 'Go.', { sessionId: SESSION, clientTools: [deferredTool('call_taxi')] });

    expect(await run().result).toMatchObject({ status: 'completed', text: 'Done.', toolCalls: 6 });
    await run().result;

    const bare = ['look', 'tool_search'];
    expect(toolsOf(model)).toEqual([bare, FOUND, FOUND, FOUND, bare]);
    const records = await ledger.read(SESSION);
    expect(activationsOf(records)).toEqual([['paint_fence'], ['call_taxi']]);
    const settled = ofType(records, 'tool.settled').map(({ data }) => `${data.toolName} ${data.status}`);
    expect(settled.sort()).toEqual([
      'call_taxi success',
      'look success',
      'look success',
      'paint_fence success',
      'tool_search success',
      'tool_search success',
    ]);
    expect(ofType(records, 'tools.cleared').map(({ data }) => data.names)).toEqual([
      ['paint_fence', 'call_taxi'],
    ]);
    expect(misfits).toEqual([]);
  });
});
