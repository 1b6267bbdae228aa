import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { reply } from '../../src/testing/reply.ts';
import { askUser } from '../../src/tools/ask-user.ts';
import { requestOf, requestsOf, startApprovalRun } from '../support/approval-run.ts';
import { LEDGER_KINDS } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

const QUESTION = { question: 'Which colour?', options: ['red', 'blue'] };
const script = () => [reply().call('ask_user', QUESTION), reply().text('Done.')];
const asking = { tools: () => [askUser()] };

describe.each(LEDGER_KINDS)('questions to a person (%s)', (kind) => {
  it('wait among the approvals, and the answer is the result word for word', async () => {
    const { runtime, run, model, finish } = await startApprovalRun(kind, script(), asking);
    const id = await requestOf(run);
    expect(await runtime.approvals.pending()).toMatchObject([
      { id, kind: 'question', toolName: 'ask_user', question: 'Which colour?', input: QUESTION },
    ]);
    await runtime.approvals.decide(id, { decision: 'approve', answer: 'blue — «teal» if there is any' });
    const { result, records } = await finish();
    expect(result.status).toBe('completed');
    expect(lastResults(model, 1)).toEqual(['blue — «teal» if there is any']);
    expect(ofType(records, 'permission.decided')[0]?.data.answer).toContain('teal');
  });

  it('are asked whatever the policies allow, and never where one denies the tool', async () => {
    const { runtime, run, finish } = await startApprovalRun(kind, script(), {
      ...asking,
      runtime: { permission: () => 'allow' },
    });
    await runtime.approvals.decide(await requestOf(run), { decision: 'approve', answer: 'red' });
    expect((await finish()).result.status).toBe('completed');
    const denied = await startApprovalRun(kind, script(), {
      ...asking,
      runtime: { permission: () => ({ type: 'deny', reason: 'nobody is here' }) },
    });
    expect((await denied.finish()).result.status).toBe('completed');
    expect(lastResults(denied.model, 1)[0]).toContain('nobody is here');
  });

  it('are not approved without an answer, nor with an edit, nor for longer than the call', async () => {
    const { runtime, run, finish } = await startApprovalRun(kind, script(), asking);
    const id = await requestOf(run);
    const attempts = [
      [{ decision: 'approve' }, 'invalid-decision'],
      [{ decision: 'approve', answer: 'red', editedInput: QUESTION }, 'approval-edit-invalid'],
      [{ decision: 'approve', answer: 'red', scope: 'session' }, 'approval-not-rememberable'],
    ] as const;
    for (const [decision, code] of attempts) {
      await expect(runtime.approvals.decide(id, decision)).rejects.toMatchObject({ code });
    }
    expect(await runtime.approvals.pending()).toHaveLength(1);
    await runtime.approvals.decide(id, { decision: 'approve', answer: '' });
    expect((await finish()).result.status).toBe('completed');
  });

  it('a person may decline, with a reason the model reads', async () => {
    const { runtime, run, model, finish } = await startApprovalRun(kind, script(), asking);
    await runtime.approvals.decide(await requestOf(run), { decision: 'deny', reason: 'Decide yourself.' });
    await finish();
    expect(lastResults(model, 1)[0]).toContain('Decide yourself.');
  });

  it('several at once are answered in any order, each once', async () => {
    const step = reply().call('ask_user', { question: 'One?' }).call('ask_user', { question: 'Two?' });
    const { runtime, run, model, finish } = await startApprovalRun(
      kind,
      [step, reply().text('Done.')],
      asking,
    );
    const [one = '', two = ''] = await requestsOf(run, 2);
    await runtime.approvals.decide(two, { decision: 'approve', answer: '2' });
    await expect(runtime.approvals.decide(two, { decision: 'approve', answer: 'two' })).rejects.toMatchObject(
      { code: 'approval-conflict' },
    );
    await runtime.approvals.decide(one, { decision: 'approve', answer: '1' });
    await finish();
    expect(lastResults(model, 1)).toEqual(['1', '2']);
  });

  it('are answered while the run is paused', async () => {
    const { runtime, run, agent, model, finish } = await startApprovalRun(kind, script(), {
      ...asking,
      run: { onApproval: 'pause' },
    });
    expect(await run.result).toMatchObject({ status: 'paused', approvals: [{ question: 'Which colour?' }] });
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve', answer: 'red' });
    expect((await finish(runtime.resume(agent, run.sessionId))).result.status).toBe('completed');
    expect(lastResults(model, 1)).toEqual(['red']);
  });

  it('expire like any request', async () => {
    const clock = fakeClock();
    const { run, model, finish } = await startApprovalRun(kind, script(), {
      ...asking,
      runtime: { clock, limits: { approvals: { expiryMs: 1_000 } } },
    });
    await requestOf(run);
    await clock.advance(1_000);
    expect((await finish()).result.status).toBe('completed');
    expect(lastResults(model, 1)[0]).toContain('expired');
  });
});
