import { createGate, reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW } from './cli-process.ts';
import { noTerminal, openTerminal } from './terminal.ts';

const RUN = ['run', fixture('worker'), '--input', 'go'];

/** What a hostile text tries, one after the other, with words between that must be seen. */
const HOSTILE = [
  'one\u001b[2J\u001b[1;1H',
  'two\u001b]0;stolen title\u0007',
  'three\u001b]52;c;c3RvbGVu\u0007',
  'four\u001b]8;;http://evil.example\u001b\\link\u001b]8;;\u001b\\',
  'five\rsix\u0008\u0008\u0008',
  'seven\u009b31m\u009d0;c1 title\u009c',
  'eight\u202etxt.exe\u202c\u200b\u2066',
  'nine\u001bPq\u001b\\\u001b[?1049h\u001b[?25l\u001b[8m',
].join(' ');

/** Escape sequences of our own: cursor, wrapping, frames, erasing, moving, colours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what this looks for.
const OWN = /\u001b\[(?:\?(?:25|7|2026)[hl]|2K|J|\d+[AC]|\d+(?:;\d+)*m)/g;

/** What was written and is neither text, nor a line end, nor a sequence of our own. */
function foreignSequences(written: string): readonly string[] {
  return written.replace(OWN, '').match(/[^\P{Cc}\n\r].{0,8}/gu) ?? [];
}

describe.skipIf(noTerminal !== undefined)(`hostile text in a terminal ${noTerminal ?? ''}`, SLOW, () => {
  it('of a model, its arguments and a result is shown and does nothing', async () => {
    const gate = createGate();
    await using place = await openWorkplace([
      reply().call('note', { text: HOSTILE }).call('hold', { gate: 'a', progress: HOSTILE }),
      reply().text(HOSTILE).wait(gate),
    ]);
    await using terminal = await openTerminal(place, RUN, { columns: 300 });
    await terminal.shows(/→ one two three four/);
    place.gates.gate('a').open();
    const screen = await terminal.shows(/^one two three four/m);
    expect(screen).toMatch(/^ABOVE$/m);
    expect(screen).toMatch(/^one two three fourlink five\nsix seven eighttxt\.exe nine$/m);
    gate.open();
    await terminal.shows(/EXIT=0/);
    expect(await terminal.ask('pane_title')).not.toMatch(/title/);
    expect(await terminal.ask('alternate_on')).toBe('0');
    expect(await terminal.ask('cursor_flag')).toBe('1');
    expect(await terminal.clipboard()).toBeUndefined();
    expect(foreignSequences(await terminal.written())).toEqual([]);
  });

  it('in what a person is to approve is shown as it is', async () => {
    await using place = await openWorkplace([reply().call('remove', { path: HOSTILE })]);
    await using terminal = await openTerminal(place, RUN, { columns: 120 });
    // Arguments are shown as JSON, whose escapes are letters; what JSON leaves as it is goes.
    const screen = await terminal.shows(/y yes/);
    expect(screen).toContain('one\\u001b[2J');
    expect(screen).toMatch(/^ABOVE\n/);
    expect(screen).not.toMatch(/[\u009b\u009d\u202e\u200b]/);
    await terminal.press('e');
    await terminal.shows(/run with this/);
    expect(await terminal.clipboard()).toBeUndefined();
    expect(await terminal.ask('pane_title')).not.toMatch(/title/);
  });

  it('printed by a tool itself does nothing', async () => {
    await using place = await openWorkplace([
      reply().call('print', { text: HOSTILE }),
      reply().text('Done.'),
    ]);
    await using terminal = await openTerminal(place, RUN, { columns: 120 });
    const screen = await terminal.shows(/EXIT=0/);
    expect(screen).toMatch(/^ABOVE\none two three/m);
    expect(await terminal.clipboard()).toBeUndefined();
    expect(await terminal.ask('pane_title')).not.toMatch(/title/);
  });

  it('in a failure, in plain lines and in JSON does nothing', async () => {
    const failure = {
      type: 'plain',
      status: 400,
      headers: {},
      body: JSON.stringify({ error: { message: HOSTILE } }),
    } as const;
    await using place = await openWorkplace([
      failure,
      reply().call('note', { text: HOSTILE }),
      reply().text(HOSTILE),
    ]);
    await using failed = await openTerminal(place, [...RUN, '--plain'], { columns: 200 });
    expect(await failed.shows(/EXIT=1/)).toMatch(/^ABOVE$/m);
    await using json = await openTerminal(place, [...RUN, '--json', '--content'], { columns: 500, rows: 60 });
    expect(await json.shows(/EXIT=0/)).toMatch(/^ABOVE$/m);
    for (const terminal of [failed, json]) {
      expect(await terminal.ask('pane_title')).not.toMatch(/title/);
      expect(await terminal.clipboard()).toBeUndefined();
    }
  });
});
