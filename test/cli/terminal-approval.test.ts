import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW, sessionIn } from './cli-process.ts';
import { noTerminal, openTerminal, type Terminal } from './terminal.ts';

const RUN = ['run', fixture('worker'), '--input', 'go'];

/** A model that removes what it is told to, then ends with what became of it. */
function remover(...paths: readonly string[]) {
  return [
    paths.reduce((answer, path) => answer.call('remove', { path }), reply()),
    reply().text('That is all.'),
  ];
}

/** What the model of a place was last given as results. */
function resultsIn(place: {
  readonly server: { readonly requests: readonly { messages: readonly { role: string; text: string }[] }[] };
}) {
  const messages = place.server.requests.at(-1)?.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ text }) => text);
}

async function atPrompt(terminal: Terminal): Promise<string> {
  return terminal.shows(/y yes/);
}

describe.skipIf(noTerminal !== undefined)(`an approval in a terminal ${noTerminal ?? ''}`, SLOW, () => {
  it('shows who asks for what, and runs the call on y', async () => {
    await using place = await openWorkplace(remover('a.txt'));
    await using terminal = await openTerminal(place, RUN);
    const screen = await atPrompt(terminal);
    expect(screen).toMatch(/\? remove {2}waits for approval {2}\{"path":"a\.txt"\}/);
    expect(screen).toMatch(/^\? remove {2}asked by worker\n {2}\{"path":"a\.txt"\}\n/m);
    await terminal.press('y');
    await terminal.shows(/EXIT=0/);
    expect(resultsIn(place)).toEqual(['removed a.txt']);
  });

  it('denies on n with the reason that is typed', async () => {
    await using place = await openWorkplace(remover('a.txt'));
    await using terminal = await openTerminal(place, RUN);
    await atPrompt(terminal);
    await terminal.press('n');
    await terminal.shows(/deny, with what you type/);
    await terminal.type('keep it, please');
    await terminal.press('Enter');
    await terminal.shows(/EXIT=0/);
    expect(resultsIn(place)).toEqual([expect.stringContaining('keep it, please')]);
  });

  it('runs the edited input, and says what is wrong with one that does not fit', async () => {
    await using place = await openWorkplace(remover('a.txt'));
    await using terminal = await openTerminal(place, RUN);
    await atPrompt(terminal);
    await terminal.press('e');
    await terminal.shows(/run with this/);
    await terminal.press('C-u');
    await terminal.type('{"path": 5}');
    await terminal.press('Enter');
    await terminal.shows(/does not fit/);
    await terminal.press('C-u');
    await terminal.type('{"path": "b.txt"');
    await terminal.press('Enter');
    await terminal.shows(/JSON/);
    await terminal.type('}');
    await terminal.press('Enter');
    await terminal.shows(/EXIT=0/);
    expect(resultsIn(place)).toEqual([expect.stringMatching(/^removed b\.txt\n.*changed the arguments/)]);
  });

  it('asks for several one after the other, oldest first', async () => {
    await using place = await openWorkplace(remover('a.txt', 'b.txt', 'c.txt'));
    await using terminal = await openTerminal(place, RUN);
    await terminal.shows(/1 of 3[^\n]*\n {2}\{"path":"a\.txt"\}/);
    await terminal.press('y');
    await terminal.shows(/1 of 2[^\n]*\n {2}\{"path":"b\.txt"\}/);
    await terminal.press('n', 'Enter');
    await terminal.shows(/asked by worker\n {2}\{"path":"c\.txt"\}/);
    await terminal.press('y');
    await terminal.shows(/EXIT=0/);
    expect(resultsIn(place)).toEqual(['removed a.txt', expect.stringContaining('denied'), 'removed c.txt']);
  });

  it('does not ask again for the rest of a session on s', async () => {
    const [ask] = remover('a.txt');
    await using place = await openWorkplace([ask ?? reply(), ask ?? reply(), reply().text('That is all.')]);
    await using terminal = await openTerminal(place, RUN);
    await atPrompt(terminal);
    await terminal.press('s');
    await terminal.shows(/EXIT=0/);
    expect(resultsIn(place)).toEqual(['removed a.txt', 'removed a.txt']);
  });

  it('takes the number of an offered answer to a question', async () => {
    const question = { question: 'Which branch?', options: ['main', 'next'] };
    await using place = await openWorkplace([
      reply().call('ask_user', question),
      reply().text('That is all.'),
    ]);
    await using terminal = await openTerminal(place, RUN);
    await terminal.shows(/Which branch\?\n {2}1 main\n {2}2 next\n/);
    await terminal.type('2');
    await terminal.press('Enter');
    await terminal.shows(/EXIT=0/);
    expect(resultsIn(place)).toEqual(['next']);
  });

  it('closes the question that another terminal decides', async () => {
    await using place = await openWorkplace(remover('a.txt'));
    await using terminal = await openTerminal(place, RUN);
    await atPrompt(terminal);
    const { stdout } = await place.run(['approvals', 'ls', '--json']);
    const approved = await place.run(['approve', `${sessionIn(stdout)}.1.1.0.ask`]);
    expect(approved).toMatchObject({ code: 0, stdout: 'approved: remove {"path":"a.txt"}\n' });
    await terminal.shows(/EXIT=0/);
    expect(resultsIn(place)).toEqual(['removed a.txt']);
  });

  it('takes the keyboard from the terminal where the input comes through a pipe', async () => {
    await using place = await openWorkplace(remover('a.txt'));
    const before = 'echo remove it | ';
    await using terminal = await openTerminal(place, ['run', fixture('worker')], { before });
    await atPrompt(terminal);
    expect(place.server.requests[0]?.lastText).toBe('remove it\n');
    await terminal.press('y');
    await terminal.shows(/EXIT=0[\s\S]*icanon echo SETTINGS/);
    expect(resultsIn(place)).toEqual(['removed a.txt']);
  });
});
