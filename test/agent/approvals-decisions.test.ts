import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/ledger/content.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ApprovalDecision } from '../../src/tools/approval-decisions.ts';
import { hashArguments } from '../../src/tools/argument-snapshot.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { PermissionRequest, Verdict } from '../../src/tools/permission.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { requestOf, startApprovalRun } from '../support/approval-run.ts';
import { LEDGER_KINDS } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { eventSeen, ofType } from '../support/run-events.ts';

const script = () => [reply().call('del', { id: 'a' }), reply().text('Done.')];
const approve = { decision: 'approve' } as const;

/** A tool that asks, and keeps what it was entered with. */
function moveTool(seen: unknown[], give: () => unknown = () => 'moved'): Tool<unknown> {
  return defineTool({
    name: 'move',
    description: 'Moves.',
    inputSchema: z.object({ to: z.enum(['left', 'right']), by: z.number().default(1) }),
    needsApproval: true,
    execute(input) {
      seen.push(input);
      return give();
    },
  });
}
const moveScript = () => [reply().call('move', { to: 'left' }), reply().text('Done.')];

describe.each(LEDGER_KINDS)('decisions on requests for approval (%s)', (kind) => {
  it('a pending request says what is asked, of whom, and by whom', async () => {
    const { runtime, run, finish } = await startApprovalRun(kind, script());
    const id = await requestOf(run);
    const [pending, ...more] = await runtime.approvals.pending({ sessionId: run.sessionId });
    expect(more).toEqual([]);
    expect(pending).toEqual({
      id,
      kind: 'permission',
      toolName: 'del',
      input: { id: 'a' },
      callId: `${run.sessionId}.1.1.0`,
      sessionId: run.sessionId,
      agentPath: ['worker'],
      expiresAt: expect.any(Number),
      rememberable: true,
    });
    expect(await runtime.approvals.pending({ sessionId: 'another' })).toEqual([]);
    await runtime.approvals.decide(id, approve);
    expect((await finish()).result.status).toBe('completed');
  });

  it.each([
    ['sync', (): Verdict => 'ask'],
    ['async', async (): Promise<Verdict> => 'ask'],
  ])('a policy that asks (%s) is given what the person is then shown', async (_, ask) => {
    const judged: PermissionRequest[] = [];
    const { runtime, run, spy, finish } = await startApprovalRun(
      kind,
      [reply().call('look', { id: 'a' }), reply().text('Done.')],
      {
        runtime: {
          permission: (request) => {
            judged.push(request);
            return ask();
          },
        },
      },
    );
    const id = await requestOf(run);
    const [pending] = await runtime.approvals.pending();
    expect(judged).toHaveLength(1);
    expect(pending).toMatchObject({ ...judged[0], id });
    expect(Object.keys(judged[0] ?? {}).sort()).toEqual([
      'agentPath',
      'callId',
      'id',
      'input',
      'sessionId',
      'toolName',
    ]);
    expect(Object.isFrozen(judged[0])).toBe(true);
    expect(spy.entries).toEqual([]);
    await runtime.approvals.decide(id, approve);
    await finish();
    expect(spy.entries).toHaveLength(1);
  });

  it('requests of all sessions are pending, oldest first', async () => {
    const one = await startApprovalRun(kind, () => reply().call('del', { id: 'a' }));
    const first = await requestOf(one.run);
    const later = one.runtime.run(one.agent, 'Again.');
    const second = await requestOf(later);
    expect((await one.runtime.approvals.pending()).map(({ id }) => id)).toEqual([first, second]);
    one.run.cancel();
    later.cancel();
    await Promise.all([one.run.result, later.result]);
    expect(await one.runtime.approvals.pending()).toEqual([]);
  });

  it('the reason of a denial reaches the model word for word, up to its bound', async () => {
    const reason = `Ask “Bob” first;\n\tnot on 💥 Fridays. ${'z'.repeat(600)}`;
    const { runtime, run, model, finish } = await startApprovalRun(kind, script());
    await runtime.approvals.decide(await requestOf(run), { decision: 'deny', reason });
    const { records } = await finish();
    const [shown = ''] = lastResults(model, 1);
    expect(shown).toContain(reason.slice(0, 490));
    expect(shown).not.toContain('z'.repeat(500));
    expect(ofType(records, 'permission.decided')[0]?.data.reason?.length).toBeLessThanOrEqual(500);
  });

  it.each([
    ['text', () => 'moved', 'moved\n'],
    ['JSON', () => ({ at: 3 }), '{"at":3}\n'],
    ['parts', () => ({ type: 'content', parts: [{ type: 'text', text: 'moved' }] }), 'moved'],
    ['an error', () => ({ error: 'stuck' }), 'stuck\n'],
  ])('edited input is what runs, and the model is told with a result that is %s', async (_, give, begins) => {
    const seen: unknown[] = [];
    const { runtime, run, model, finish } = await startApprovalRun(kind, moveScript(), {
      tools: () => [moveTool(seen, give)],
    });
    const editedInput = { to: 'right' };
    await runtime.approvals.decide(await requestOf(run), { decision: 'approve', editedInput, actor: 'ann' });
    const { records } = await finish();
    // Parsed and defaulted, as the model's own would have been.
    expect(seen).toEqual([{ to: 'right', by: 1 }]);
    const [shown = ''] = lastResults(model, 1);
    expect(shown.startsWith(begins)).toBe(true);
    expect(shown).toContain('A person changed the arguments');
    expect(shown).toContain('{"to":"right"}');
    expect(ofType(records, 'permission.decided')[0]?.data).toMatchObject({ editedInput, actor: 'ann' });
    expect(ofType(records, 'tool.dispatched')[0]?.data).toMatchObject({
      editedArgs: editedInput,
      argsHash: hashArguments(editedInput),
    });
    expect(model.requests[1]?.messages[1]?.calls[0]?.args).toEqual({ to: 'left' });
  });

  it('edited input is a copy: what its owner does to it later changes nothing', async () => {
    const seen: unknown[] = [];
    const { runtime, run, finish } = await startApprovalRun(kind, moveScript(), {
      tools: () => [moveTool(seen)],
    });
    const editedInput = { to: 'right' };
    const deciding = runtime.approvals.decide(await requestOf(run), { decision: 'approve', editedInput });
    editedInput.to = 'up';
    await deciding;
    await finish();
    expect(seen).toEqual([{ to: 'right', by: 1 }]);
  });

  it.each<readonly [string, unknown]>([
    ['breaks the schema', { to: 'up' }],
    ['is no object', ['left']],
    [
      'holds a cycle',
      (() => {
        const loop: { to: string; in?: unknown } = { to: 'left' };
        loop.in = loop;
        return loop;
      })(),
    ],
    ['holds __proto__', JSON.parse('{"to":"left","__proto__":{"a":1}}')],
    ['is over 64 KiB', { to: 'left', note: 'x'.repeat(70_000) }],
  ])('an edit that %s is refused and the request stays open', async (_, editedInput) => {
    const seen: unknown[] = [];
    const { runtime, run, finish } = await startApprovalRun(kind, moveScript(), {
      tools: () => [moveTool(seen)],
    });
    const id = await requestOf(run);
    await expect(
      runtime.approvals.decide(id, { decision: 'approve', editedInput: editedInput as JsonObject }),
    ).rejects.toMatchObject({ code: 'approval-edit-invalid' });
    expect((await runtime.approvals.pending()).map((one) => one.id)).toEqual([id]);
    await runtime.approvals.decide(id, approve);
    await finish();
    expect(seen).toEqual([{ to: 'left', by: 1 }]);
  });

  it('an edit that a policy denies is refused and the request stays open', async () => {
    const { runtime, run, finish } = await startApprovalRun(kind, script(), {
      runtime: {
        permission: ({ input }) =>
          input['id'] === 'root' ? { type: 'deny', reason: 'not the root' } : 'allow',
      },
    });
    const id = await requestOf(run);
    const edit = { decision: 'approve', editedInput: { id: 'root' } } as const;
    const error: unknown = await runtime.approvals.decide(id, edit).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'approval-edit-invalid' });
    expect(String(error)).toContain('not the root');
    await runtime.approvals.decide(id, { decision: 'approve', editedInput: { id: 'leaf' } });
    expect((await finish()).result.status).toBe('completed');
  });

  it('a second approval with another input contradicts the first', async () => {
    const { runtime, run, spy, finish } = await startApprovalRun(kind, script());
    const id = await requestOf(run);
    await runtime.approvals.decide(id, { decision: 'approve', editedInput: { id: 'b' } });
    await expect(runtime.approvals.decide(id, approve)).rejects.toMatchObject({ code: 'approval-conflict' });
    await runtime.approvals.decide(id, { decision: 'approve', editedInput: { id: 'b' } });
    await finish();
    await expect(runtime.approvals.decide(id, approve)).rejects.toMatchObject({ code: 'approval-conflict' });
    await runtime.approvals.decide(id, { decision: 'approve', editedInput: { id: 'b' } });
    expect(spy.entries.map((entry) => entry.id)).toEqual(['b']);
  });

  it.each<readonly [string, unknown]>([
    ['another word', { decision: 'maybe' }],
    ['an unknown scope', { decision: 'approve', scope: 'forever' }],
    ['a reason that is no text', { decision: 'deny', reason: 7 }],
    ['a field nobody knows', { decision: 'approve', editedinput: { id: 'b' } }],
    ['nothing', undefined],
  ])('a decision with %s is refused and the request stays open', async (_, decision) => {
    const { runtime, run, finish } = await startApprovalRun(kind, script());
    const id = await requestOf(run);
    await expect(runtime.approvals.decide(id, decision as ApprovalDecision)).rejects.toMatchObject({
      code: 'invalid-decision',
    });
    expect(await runtime.approvals.pending()).toHaveLength(1);
    await runtime.approvals.decide(id, approve);
    await finish();
  });

  it('what a gate put in place is what is asked about, what runs and what is on record', async () => {
    const seen: unknown[] = [];
    const { runtime, run, finish } = await startApprovalRun(kind, moveScript(), {
      tools: () => [moveTool(seen)],
      agent: {
        hooks: { beforeToolCall: (subject) => ({ replace: { ...subject, input: { to: 'right', by: 5 } } }) },
      },
    });
    const id = await requestOf(run);
    const [pending] = await runtime.approvals.pending();
    expect(pending?.input).toEqual({ to: 'right', by: 5 });
    await runtime.approvals.decide(id, approve);
    const { records } = await finish();
    expect(seen).toEqual([{ to: 'right', by: 5 }]);
    expect(ofType(records, 'permission.requested')[0]?.data).toMatchObject({
      input: { to: 'right', by: 5 },
      argsHash: hashArguments({ to: 'right', by: 5 }),
    });
    expect(ofType(records, 'tool.dispatched')[0]?.data.editedArgs).toEqual({ to: 'right', by: 5 });
  });

  it('the turn waits in a state of its own while a person is asked', async () => {
    const { runtime, run, transitions, finish } = await startApprovalRun(kind, script());
    const id = await requestOf(run);
    const states = () => transitions.filter((one) => one.kind === 'turn').map((one) => one.to);
    await eventSeen(run, 'approval.requested');
    expect(states().at(-1)).toBe('waitingForApproval');
    await runtime.approvals.decide(id, approve);
    await finish();
    expect(states().join(' ')).toBe(
      'opening projecting stepping settling waitingForApproval settling deciding projecting stepping deciding completed',
    );
  });
});
