import { describe, expect, it } from 'vitest';
import { askUser } from '../../src/tools/ask-user.ts';
import { bindTools } from '../../src/tools/bind-tools.ts';

describe('askUser', () => {
  it('makes a tool that parks as a question and that a crash cannot run twice', () => {
    expect(askUser()).toMatchObject({
      kind: 'tool',
      name: 'ask_user',
      parks: 'question',
      recovery: 'replay_safe',
    });
    expect(Object.isFrozen(askUser())).toBe(true);
  });

  it('takes another name and description', () => {
    expect(askUser({ name: 'ask_operator', description: 'Asks.' })).toMatchObject({
      name: 'ask_operator',
      description: 'Asks.',
      parks: 'question',
    });
    expect(() => askUser({ name: 'not a name' })).toThrow(/name: must match/);
  });

  it('is never remembered: an answer is for its question', () => {
    expect(askUser().rememberable).toBe(false);
  });

  it('requires a question of its arguments', async () => {
    const [bound] = bindTools([askUser()]).tools;
    expect(await bound?.validate({ question: 'Which branch?', options: ['main', 'next'] })).toMatchObject({
      type: 'valid',
    });
    expect(await bound?.validate({})).toMatchObject({ type: 'invalid', paths: [['question']] });
    expect(await bound?.validate({ question: '' })).toMatchObject({ type: 'invalid' });
  });

  it('refuses to be executed', () => {
    expect(() => askUser().execute({}, {} as never)).toThrow(/answered by a person/);
  });
});
