import { describe, expect, it } from 'vitest';
import { type AnyAgent, defineAgent } from '../../src/agent/define-agent.ts';
import type { RuntimeOptions } from '../../src/agent/runtime-options.ts';
import type { LedgerRecord, RecordType } from '../../src/ledger/records.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { editedLedger } from '../support/edited-ledger.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { eventSeen, eventsOf, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { swarmOn } from '../support/swarm-run.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** Two steps with calls, then an answer; what is asked beyond is answered by `again`. */
const SCRIPT = [
  reply().call('look', { id: 'a' }).call('look', { id: 'b' }).usage(10, 2),
  reply().call('mend', { id: 'c' }).usage(20, 3),
  reply().text('first').usage(30, 4),
];
const AGAIN = Array.from({ length: 10 }, () => reply().text('again'));

function seqOf(records: readonly LedgerRecord[], type: RecordType, nth = 1): number {
  const found = records.filter((record) => record.type === type)[nth - 1];
  if (found === undefined) throw new Error(`there is no ${type} number ${nth}`);
  return found.seq;
}

describe.each(LEDGER_KINDS)('a fork (%s)', (kind) => {
  /** A finished run, and a runtime that knows its agent. */
  async function recorded(options: Omit<RuntimeOptions, 'ledger' | 'agents'> = {}) {
    const spy = createToolSpy();
    const { agent, model } = scriptedAgent([...SCRIPT, ...AGAIN], {
      tools: [spy.tool('look'), spy.tool('mend')],
    });
    const { runtime, ledger } = swarmOn(await openLedger(kind), { ...options, agents: [agent] });
    const run = runtime.run(agent, 'go');
    await run.result;
    return {
      spy,
      agent,
      model,
      runtime,
      ledger,
      session: run.sessionId,
      records: await ledger.read(run.sessionId),
    };
  }

  it('IN-14 goes on from a point with recorded answers and results, and runs no tool again', async () => {
    const { spy, model, runtime, session, records } = await recorded();
    const run = runtime.fork(session, { atSeq: seqOf(records, 'tool.settled', 2) });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'again', steps: 2 });
    expect(spy.entries).toHaveLength(3);
    expect(model.requests).toHaveLength(4);
    // What the origin was asked at this point, word for word.
    expect(model.requests[3]?.messages).toEqual(model.requests[1]?.messages);
  });

  it('IN-14 is linked to its origin by the hash of the fact it comes from, and leaves the origin as it is', async () => {
    const { runtime, ledger, session, records } = await recorded();
    const atSeq = seqOf(records, 'tool.settled', 2);
    const run = runtime.fork(session, { atSeq });
    await run.result;
    const fork = await ledger.read(run.sessionId);
    const { hash } = records[atSeq - 1] ?? {};
    expect(ofType(fork, 'session.opened')[0]?.data.origin).toEqual({ session, seq: atSeq, hash });
    expect(new Set(fork.map(({ root }) => root))).toEqual(new Set([run.sessionId]));
    expect(JSON.stringify(fork.slice(1))).not.toContain(session);
    expect(await ledger.read(session)).toEqual(records);
  });

  it('IN-14 of a finished run ends as it did, without a request', async () => {
    const { spy, model, runtime, session, records } = await recorded();
    const result = await runtime.fork(session, { atSeq: records.length }).result;
    expect(result).toMatchObject({ status: 'completed', text: 'first', steps: 3, toolCalls: 3 });
    expect(model.requests).toHaveLength(3);
    expect(spy.entries).toHaveLength(3);
  });

  it('IN-14 takes over what became of a call after the point', async () => {
    const { spy, model, runtime, session, records } = await recorded();
    for (const type of ['step.closed', 'tool.dispatched', 'tool.settled'] as const) {
      await runtime.fork(session, { atSeq: seqOf(records, type) }).result;
      expect(lastResults(model, model.requests.length - 1)).toEqual(['look a', 'look b']);
    }
    expect(spy.entries).toHaveLength(3);
  });

  it('takes a step again whose answer was not complete at the point', async () => {
    const { model, runtime, session, records } = await recorded();
    const run = runtime.fork(session, { atSeq: seqOf(records, 'assistant.message', 3) });
    expect(await run.result).toMatchObject({ text: 'again', steps: 3 });
    expect(model.requests[3]?.messages).toEqual(model.requests[2]?.messages);
  });

  it('of a point before the first turn begins with that turn', async () => {
    const { model, runtime, session } = await recorded();
    const run = runtime.fork(session, { atSeq: 1 });
    expect(await run.result).toMatchObject({ text: 'again', steps: 1 });
    expect(model.requests[3]?.messages).toEqual(model.requests[0]?.messages);
  });

  it('leaves a call unknown that was entered and has no outcome, and never enters it by itself', async () => {
    const held = createGate();
    const spy = createToolSpy();
    const { agent } = scriptedAgent([reply().call('hold', { id: 'a' }), ...AGAIN], {
      tools: [spy.tool('hold', () => held.pass())],
    });
    const { runtime, ledger } = swarmOn(await openLedger(kind), { agents: [agent] });
    const run = runtime.run(agent, 'go');
    await held.reached;
    const { length } = await ledger.read(run.sessionId);
    const fork = runtime.fork(run.sessionId, { atSeq: length, onApproval: 'pause' });
    expect(await fork.result).toMatchObject({ status: 'paused', reason: 'indeterminate' });
    const indeterminate = () => ({ settle: 'seen to it' }) as const;
    const decided = runtime.fork(run.sessionId, { atSeq: length, indeterminate });
    expect(await decided.result).toMatchObject({ status: 'completed', text: 'again' });
    expect(spy.entries).toHaveLength(1);
    held.open();
    expect(await run.result).toMatchObject({ status: 'completed' });
  });

  it('of a call that waits for a person waits for one too, under a request of its own', async () => {
    const spy = createToolSpy();
    const { agent } = scriptedAgent([reply().call('pay', { id: 'a' }), ...AGAIN], {
      tools: [spy.tool('pay', undefined, { needsApproval: true })],
    });
    const { runtime, ledger } = swarmOn(await openLedger(kind), { agents: [agent] });
    const run = runtime.run(agent, 'go', { onApproval: 'pause' });
    await run.result;
    const { length } = await ledger.read(run.sessionId);
    const fork = runtime.fork(run.sessionId, { atSeq: length });
    const { data } = await eventSeen(fork, 'turn.resumed').then(() => eventSeen(fork, 'approval.requested'));
    expect(data.request).toBe(`${fork.sessionId}.1.1.0.ask`);
    await runtime.approvals.decide(data.request, { decision: 'approve' });
    expect(await fork.result).toMatchObject({ status: 'completed' });
    expect(spy.entries.map(({ callId }) => callId)).toEqual([`${fork.sessionId}.1.1.0`]);
    expect((await runtime.approvals.pending()).map(({ sessionId }) => sessionId)).toEqual([run.sessionId]);
  });

  it('begins its turn with another input', async () => {
    const { model, runtime, session, records } = await recorded();
    const run = runtime.fork(session, { atSeq: records.length, edit: { input: 'stop' } });
    expect(await run.result).toMatchObject({ text: 'again', steps: 1, toolCalls: 0 });
    expect(model.requests[3]?.messages.map(({ role, text }) => [role, text])).toEqual([['user', 'stop']]);
  });

  it('T21 begins with another input only if the gates admit it, as they change it', async () => {
    const { agent, ledger, session, records, model } = await recorded();
    const { runtime } = swarmOn(ledger, {
      agents: [agent],
      hooks: {
        beforeTurn: (subject) =>
          JSON.stringify(subject.input).includes('secret')
            ? { refuse: 'no secrets' }
            : { replace: { ...subject, input: [{ type: 'text', text: 'changed' }] } },
      },
    });
    const refused = runtime.fork(session, { atSeq: records.length, edit: { input: 'a secret' } });
    expect(await refused.result).toMatchObject({ error: { kind: 'gate-refused', message: 'no secrets' } });
    expect(await ledger.read(refused.sessionId)).toEqual([]);
    await runtime.fork(session, { atSeq: records.length, edit: { input: 'fine' } }).result;
    expect(model.requests.at(-1)?.lastText).toBe('changed');
  });

  it('tells the model another result of the last call, and keeps nothing after it', async () => {
    const { spy, model, runtime, session, records } = await recorded();
    const run = runtime.fork(session, { atSeq: records.length, edit: { result: 'it is broken' } });
    expect(await run.result).toMatchObject({ text: 'again', steps: 3 });
    expect(lastResults(model, 3)).toEqual(['it is broken']);
    expect(spy.entries).toHaveLength(3);
  });

  it('changes the call that had its result last at the point, not a later one of the same step', async () => {
    const { model, runtime, session, records } = await recorded();
    const atSeq = seqOf(records, 'tool.settled', 1);
    await runtime.fork(session, { atSeq, edit: { result: 'it is broken' } }).result;
    const [first] = ofType(records, 'tool.settled');
    const expected =
      first?.call?.endsWith('.0') === true ? ['it is broken', 'look b'] : ['look a', 'it is broken'];
    expect(lastResults(model, 3)).toEqual(expected);
  });

  it('repeats no effect of what it took over', async () => {
    const facts: string[] = [];
    const { runtime, session, records } = await recorded({
      hooks: {
        afterToolCall: ({ id }) => void facts.push(id),
        afterStep: ({ id }) => void facts.push(id),
      },
    });
    const run = runtime.fork(session, { atSeq: seqOf(records, 'tool.settled', 3) });
    await run.result;
    await runtime.close();
    expect(facts.filter((id) => id.startsWith(`${run.sessionId}:`))).toHaveLength(1);
  });

  it('T21 is held to the policies and gates of its runtime, and its events name who acts', async () => {
    const asked: string[] = [];
    const { spy, agent, ledger, session, records } = await recorded();
    const scripted = scriptedAgent(
      [reply().call('mend', { id: 'x' }), reply().call('look', { id: 'y' }), ...AGAIN],
      {
        tools: agent.binding.tools.map(({ tool }) => tool as never),
      },
    );
    const { runtime } = swarmOn(ledger, {
      agents: [scripted.agent],
      permission: ({ toolName, agentPath }) => {
        asked.push(`${agentPath.join('/')}: ${toolName}`);
        return toolName === 'mend' ? 'deny' : 'allow';
      },
      hooks: { beforeToolCall: ({ toolName }) => (toolName === 'look' ? { refuse: 'not now' } : undefined) },
    });
    const run = runtime.fork(session, { atSeq: seqOf(records, 'tool.settled', 2) });
    const events = await eventsOf(run);
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(spy.entries).toHaveLength(3);
    expect(asked).toEqual(['worker: mend']);
    expect(new Set(events.map(({ session: id, agent: name }) => `${id} ${name}`))).toEqual(
      new Set([`${run.sessionId} worker`]),
    );
  });

  it('can be forked itself', async () => {
    const { spy, runtime, ledger, session, records } = await recorded();
    const first = runtime.fork(session, { atSeq: seqOf(records, 'tool.settled', 3) });
    await first.result;
    const facts = await ledger.read(first.sessionId);
    const second = runtime.fork(first.sessionId, { atSeq: facts.length });
    expect(await second.result).toMatchObject({ status: 'completed', text: 'again' });
    const [opened] = ofType(await ledger.read(second.sessionId), 'session.opened');
    expect(opened?.data.origin?.session).toBe(first.sessionId);
    expect(spy.entries).toHaveLength(3);
  });

  it('keeps earlier turns of the session', async () => {
    const { model, agent, runtime, ledger, session } = await recorded();
    await runtime.run(agent, 'and now?', { sessionId: session }).result;
    const records = await ledger.read(session);
    const run = runtime.fork(session, { atSeq: seqOf(records, 'turn.opened', 2) });
    await run.result;
    expect(model.requests.at(-1)?.messages).toEqual(model.requests.at(-2)?.messages);
  });
});

describe('a fork that cannot be', () => {
  async function finished(agents: (agent: AnyAgent) => readonly AnyAgent[] = (agent) => [agent]) {
    const { agent } = scriptedAgent(AGAIN);
    const ledger = await openLedger('memory');
    const { runtime } = swarmOn(ledger, { agents: agents(agent) });
    const run = runtime.run(agent, 'go');
    await run.result;
    return { agent, ledger, runtime, session: run.sessionId };
  }

  it.each([
    ['of a session nobody knows', 'unknown-session', 's-none', { atSeq: 1 }],
    ['after the last fact', 'invalid-fork', undefined, { atSeq: 1_000 }],
    [
      'with the result of a call where there is none',
      'invalid-fork',
      undefined,
      { atSeq: 3, edit: { result: 'a' } },
    ],
  ])('%s fails with %s', async (_, kind, other, options) => {
    const { runtime, ledger, session } = await finished();
    const run = runtime.fork(other ?? session, options);
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind } });
    expect(await ledger.read(run.sessionId)).toEqual([]);
  });

  it.each([
    ['a position that is none', { atSeq: 0 }],
    ['half a position', { atSeq: 1.5 }],
    ['an edit of nothing', { atSeq: 1, edit: {} as never }],
    ['a result that is too long', { atSeq: 1, edit: { result: 'x'.repeat(60_000) } }],
    ['an edit of two things', { atSeq: 1, edit: { input: 'a', result: 'b' } as never }],
  ])('throws at once for %s', async (_, options) => {
    const { runtime, session } = await finished();
    expect(() => runtime.fork(session, options)).toThrow(expect.objectContaining({ code: 'invalid-fork' }));
  });

  it('fails where nobody knows the agent, and takes one that is given', async () => {
    const { agent, runtime, session } = await finished(() => []);
    expect(await runtime.fork(session, { atSeq: 2 }).result).toMatchObject({
      error: { kind: 'unknown-agent' },
    });
    expect(await runtime.fork(session, { atSeq: 2, agent }).result).toMatchObject({ text: 'again' });
  });

  it('fails for a child, which belongs to its parent', async () => {
    const { agent: scout } = scriptedAgent(AGAIN, { name: 'scout' });
    const { agent: lead } = scriptedAgent([reply().call('ask_scout', { task: 'Look.' }), ...AGAIN], {
      name: 'lead',
      agents: [scout],
    });
    const { runtime, records } = swarmOn(await openLedger('memory'), { agents: [lead, scout] });
    await runtime.run(lead, 'go').result;
    const child = (await records()).find(({ parent }) => parent !== undefined)?.session ?? '';
    expect(await runtime.fork(child, { atSeq: 2 }).result).toMatchObject({
      error: { kind: 'child-session' },
    });
  });

  it('fails for a session whose facts were changed', async () => {
    const { agent, ledger, session } = await finished();
    const broken = editedLedger(ledger, (record) => record);
    broken.read = async () => {
      const { SwarmError } = await import('../../src/errors.ts');
      throw new SwarmError('ledger-corrupt', 'a record does not match its hash');
    };
    const { runtime } = swarmOn(broken, { agents: [agent] });
    expect(await runtime.fork(session, { atSeq: 2 }).result).toMatchObject({
      error: { kind: 'ledger-corrupt' },
    });
  });
});

describe('a fork of an agent that handed over', () => {
  it('takes the step again that did, and leaves the other agent of its origin alone', async () => {
    const { agent: clerk } = scriptedAgent(AGAIN, { name: 'clerk' });
    const handOver = () => reply().call('transfer_to_clerk', { message: 'Yours.' });
    const model = scriptedModel({ script: [handOver(), handOver()] });
    const desk = defineAgent({ name: 'desk', instructions: 'Work.', model, handoffs: [clerk] });
    const { runtime, ledger } = swarmOn(await openLedger('memory'), { agents: [desk, clerk] });
    const run = runtime.run(desk, 'go');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'again' });
    const records = await ledger.read(run.sessionId);
    const heads = (await ledger.sessions(run.sessionId)).map(({ sessionId, head }) => [sessionId, head.seq]);
    const fork = runtime.fork(run.sessionId, { atSeq: records.length });
    expect(await fork.result).toMatchObject({ status: 'completed', text: 'again' });
    expect(model.requests[1]?.messages).toEqual(model.requests[0]?.messages);
    expect(
      (await ledger.sessions(run.sessionId)).map(({ sessionId, head }) => [sessionId, head.seq]),
    ).toEqual(heads);
    expect((await ledger.sessions(fork.sessionId)).map(({ agent }) => agent)).toEqual(['desk', 'clerk']);
  });
});

describe('a fork of an agent that asked children', () => {
  it('takes over what a child answered, and asks one anew that had not', async () => {
    const gate = createGate();
    const { agent: quick, model: quickModel } = scriptedAgent(AGAIN, { name: 'quick' });
    const { agent: slow, model: slowModel } = scriptedAgent([reply().wait(gate).text('late'), ...AGAIN], {
      name: 'slow',
    });
    const { agent: lead } = scriptedAgent(
      [reply().call('ask_quick', { task: 'a' }).call('ask_slow', { task: 'b' }), ...AGAIN],
      { name: 'lead', agents: [quick, slow] },
    );
    const { runtime, ledger } = swarmOn(await openLedger('memory'), { agents: [lead] });
    const run = runtime.run(lead, 'go');
    await gate.reached;
    await eventSeen(run, 'child.finished');
    const { length } = await ledger.read(run.sessionId);
    const fork = runtime.fork(run.sessionId, { atSeq: length });
    expect(await fork.result).toMatchObject({ status: 'completed', text: 'again' });
    expect([quickModel.requests.length, slowModel.requests.length]).toEqual([1, 2]);
    const children = await ledger.sessions(fork.sessionId);
    expect(children.map(({ agent, parentId }) => [agent, parentId])).toContainEqual(['slow', fork.sessionId]);
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed' });
  });
});
