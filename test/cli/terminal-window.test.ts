import stringWidth from 'string-width';
import { createGate, reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW } from './cli-process.ts';
import { noTerminal, openTerminal } from './terminal.ts';

const RUN = ['run', fixture('worker'), '--input', 'go'];

describe.skipIf(noTerminal !== undefined)(`the window of a terminal ${noTerminal ?? ''}`, SLOW, () => {
  it('of 20 columns and 10 rows holds tree, approval and keys without a line that wraps', async () => {
    await using place = await openWorkplace([reply().call('remove', { path: 'a/long/path/to/some.txt' })]);
    await using terminal = await openTerminal(place, RUN, { columns: 20, rows: 10 });
    const screen = await terminal.shows(/y yes/);
    expect(screen).toMatch(/^ABOVE\n\? worker/);
    expect(screen).toMatch(/\? remove/);
    expect(screen).toMatch(/\{"path":"a\/long\/p/);
    expect(screen).toMatch(/n no/);
    expect(screen.split('\n').length).toBeLessThanOrEqual(10);
  });

  it('shows wide characters whole and keeps the picture in place', async () => {
    const gate = createGate();
    const wide = '漢字かな交じり文は幅が二倍です。👩‍👩‍👧 done';
    await using place = await openWorkplace([
      reply().text('先ず').call('note', { text: wide }),
      reply().text(wide).wait(gate),
    ]);
    await using terminal = await openTerminal(place, RUN, { columns: 31, rows: 12 });
    const screen = await terminal.shows(/done/);
    // The picture was drawn several times; were one row counted wrong, parts of an older one would stand above.
    expect(screen.match(/worker/g)).toHaveLength(1);
    expect(screen).toMatch(/^ABOVE\n/);
    for (const line of screen.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(31);
    gate.open();
    await terminal.shows(/EXIT=0/);
  });

  it('is filled anew when its size changes', async () => {
    await using place = await openWorkplace([reply().call('hold', { gate: 'a', progress: 'a'.repeat(90) })]);
    await using terminal = await openTerminal(place, RUN, { columns: 60, rows: 20 });
    await terminal.shows(/→ a{20,}…$/m);
    await terminal.resize(120, 20);
    await terminal.shows(/→ a{60,}/);
    await terminal.resize(24, 20);
    const screen = await terminal.shows(/^ *[├└] \S hold {2}running/m);
    expect(screen.split('\n').every((line) => stringWidth(line) <= 24)).toBe(true);
    expect(await terminal.history()).toMatch(/^ABOVE$/m);
  });

  it('keeps the newest in view when there is more than it holds', async () => {
    const steps = Array.from({ length: 12 }, (_, index) => reply().call('note', { text: `note ${index}` }));
    await using place = await openWorkplace([...steps, reply().call('hold', { gate: 'a' })]);
    await using terminal = await openTerminal(place, RUN, { columns: 60, rows: 10 });
    const screen = await terminal.shows(/holding at a/);
    expect(screen).toMatch(/^ABOVE\n\S worker/);
    expect(screen).toMatch(/✓ 12 steps {2}12 calls/);
  });

  it('shows what a tool prints above the picture, line by line', async () => {
    await using place = await openWorkplace([
      reply().call('print', { text: 'printed by a tool\nand more' }),
      reply().call('hold', { gate: 'a' }),
    ]);
    await using terminal = await openTerminal(place, RUN);
    await terminal.shows(/^ABOVE\nprinted by a tool\n\S worker[\s\S]*holding at a/);
  });
});
