import type { ApprovalDecision, PendingApproval } from 'swarmwright';
import { SwarmError } from 'swarmwright';
import { describe, expect, it } from 'vitest';
import { ApprovalDialog } from '../../src/cli/approval-dialog.ts';
import { dialogFrame } from '../../src/cli/dialog-lines.ts';
import { lineWidth, plainText } from '../../src/cli/line.ts';

const request: PendingApproval = {
  id: 's-1.1.1.0.ask',
  kind: 'permission',
  toolName: 'remove',
  input: { path: 'a.txt' },
  callId: 's-1.1.1.0',
  sessionId: 's-1',
  agentPath: ['lead', 'worker'],
  rememberable: true,
};

const question: PendingApproval = {
  ...request,
  kind: 'question',
  toolName: 'ask_user',
  question: 'Which one?',
  input: { question: 'Which one?', options: ['main', 'next'] },
};

function open(about: PendingApproval = request) {
  const decided: ApprovalDecision[] = [];
  const refusals: SwarmError[] = [];
  const changed = Promise.withResolvers<void>();
  const dialog = new ApprovalDialog({
    request: about,
    changed: () => changed.resolve(),
    async decide(_id, decision) {
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      decided.push(decision);
    },
  });
  const type = (text: string) => {
    for (const character of text) dialog.press(character, { sequence: character, name: character });
  };
  const press = (name: string, ctrl = false) => dialog.press(undefined, { name, ctrl });
  const lines = (columns = 80, rows = 20) =>
    dialogFrame(dialog.state, { columns, rows, open: 1 }).lines.map(plainText);
  return { dialog, decided, refusals, changed: changed.promise, type, press, lines };
}

describe('the dialog of a request', () => {
  it.each([
    ['y', { decision: 'approve' }],
    ['Y', { decision: 'approve' }],
    ['t', { decision: 'approve', scope: 'turn' }],
    ['s', { decision: 'approve', scope: 'session' }],
  ])('decides on %s at once', (key, decision) => {
    const { type, decided } = open();
    type(key);
    expect(decided).toEqual([{ ...decision, actor: 'terminal' }]);
  });

  it.each(['x', ' ', '\r', 'n', 'e'])('decides nothing on %j alone', (key) => {
    const { type, decided } = open();
    type(key);
    expect(decided).toEqual([]);
  });

  it('offers no longer scope where the decision may not be remembered', () => {
    const { type, decided, lines } = open({ ...request, rememberable: false });
    type('ts');
    expect(decided).toEqual([]);
    expect(lines().join('\n')).not.toMatch(/this turn|this session/);
  });

  it('denies with and without a reason', () => {
    const plain = open();
    plain.type('n');
    plain.press('return');
    expect(plain.decided).toEqual([{ decision: 'deny', actor: 'terminal' }]);
    const reasoned = open();
    reasoned.type('nkeep it');
    reasoned.press('return');
    expect(reasoned.decided).toEqual([{ decision: 'deny', reason: 'keep it', actor: 'terminal' }]);
  });

  it('goes back from a line on Escape', () => {
    const { type, press, dialog } = open();
    type('e');
    expect(dialog.state.typed).toEqual({ text: '{"path":"a.txt"}', cursor: 16 });
    press('escape');
    expect(dialog.state).toMatchObject({ mode: 'choose', typed: undefined });
  });

  it('runs an input that was edited', () => {
    const { type, press, decided } = open();
    type('e');
    press('u', true);
    type('{"path":"b.txt"}');
    press('return');
    expect(decided).toEqual([{ decision: 'approve', editedInput: { path: 'b.txt' }, actor: 'terminal' }]);
  });

  it.each(['{"path"', '[]', 'null', '5'])('keeps %s that is no JSON object, with a complaint', (text) => {
    const { type, press, dialog, decided } = open();
    type('e');
    press('u', true);
    type(text);
    press('return');
    expect(decided).toEqual([]);
    expect(dialog.state).toMatchObject({ mode: 'edit', typed: { text }, complaint: expect.any(String) });
  });

  it('stays open with what was typed when the decision is refused', async () => {
    const { type, press, dialog, refusals, changed, decided } = open();
    refusals.push(new SwarmError('approval-edit-invalid', 'path must be a string'));
    type('e');
    press('return');
    expect(dialog.state.mode).toBe('deciding');
    await changed;
    expect(dialog.state).toMatchObject({
      mode: 'edit',
      complaint: 'path must be a string',
      typed: { text: '{"path":"a.txt"}' },
    });
    press('return');
    expect(decided).toHaveLength(1);
  });

  it('answers a question by text or by the number of an option', () => {
    const text = open(question);
    text.type('both of them');
    text.press('return');
    expect(text.decided).toEqual([{ decision: 'approve', answer: 'both of them', actor: 'terminal' }]);
    const number = open(question);
    number.type('2');
    number.press('return');
    expect(number.decided).toEqual([{ decision: 'approve', answer: 'next', actor: 'terminal' }]);
  });

  it('takes no empty answer', () => {
    const { press, decided, dialog } = open(question);
    press('return');
    expect(decided).toEqual([]);
    expect(dialog.state.mode).toBe('answer');
  });
});

describe('the lines of a dialog', () => {
  it('say who asks for what, and what can be pressed', () => {
    expect(open().lines()).toEqual([
      '? remove  asked by lead/worker',
      '  {"path":"a.txt"}',
      '  y yes  n no  e edit  t yes for this turn  s yes for this session',
    ]);
    expect(open(question).lines()).toEqual([
      '? Question  asked by lead/worker',
      '  Which one?',
      '  1 main',
      '  2 next',
      '  ',
      '  Enter answer  Esc deny',
    ]);
  });

  it('fit any window and keep the keys in it', () => {
    const long = open({ ...request, input: { path: 'word '.repeat(400) } });
    for (const columns of [20, 33, 80]) {
      for (const rows of [6, 8, 12]) {
        const { lines } = dialogFrame(long.dialog.state, { columns, rows, open: 3 });
        expect(lines.length).toBeLessThanOrEqual(rows);
        for (const line of lines) expect(lineWidth(line)).toBeLessThanOrEqual(columns);
        expect(lines.map(plainText).join('\n')).toMatch(/y yes/);
      }
    }
  });

  it('put the cursor behind what is typed, over as many lines as it takes', () => {
    const { dialog, type } = open();
    type('n漢字 is wide and this goes on');
    const { lines, cursor } = dialogFrame(dialog.state, { columns: 20, rows: 12, open: 1 });
    const row = lines[cursor?.row ?? 0] ?? [];
    expect(plainText(row).endsWith('goes on')).toBe(true);
    expect(cursor?.column).toBe(lineWidth(row));
  });
});
