import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../src/cli/dialog-lines.ts';
import { textLine } from '../../src/cli/line.ts';
import { LiveRegion } from '../../src/cli/live-region.ts';
import type { TextWriter } from '../../src/cli/text-writer.ts';

/** As much of a terminal as the region uses; one that is asked for more fails. */
function createScreen(columns: number, rows: number) {
  let screen: string[] = Array.from({ length: rows }, () => '');
  let row = 0;
  let column = 0;
  const scrolled: string[] = [];
  const feed = () => {
    if (row < rows - 1) row += 1;
    else {
      scrolled.push(screen[0] ?? '');
      screen = [...screen.slice(1), ''];
    }
  };
  const act = (sequence: string) => {
    const amount = Number(/\d+/.exec(sequence)?.[0] ?? 1);
    if (/^\[\?(25|7|2026)[hl]$/.test(sequence)) return;
    if (sequence === '[2K') screen[row] = '';
    else if (sequence === '[J') {
      screen[row] = (screen[row] ?? '').slice(0, column);
      screen = screen.map((line, at) => (at > row ? '' : line));
    } else if (/^\[\d+A$/.test(sequence)) row = Math.max(0, row - amount);
    else if (/^\[\d+C$/.test(sequence)) column += amount;
    else throw new Error(`the screen does not know ${sequence}`);
  };
  const write = (text: string) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences begin with the escape character.
    for (const part of text.match(/\u001b\[\??\d*[A-Za-z]|\r|\n|[^\u001b\r\n]+/g) ?? []) {
      if (part.startsWith('\u001b')) act(part.slice(1));
      else if (part === '\r') column = 0;
      else if (part === '\n') feed();
      else {
        const line = (screen[row] ?? '').padEnd(column);
        screen[row] = `${line.slice(0, column)}${part}${line.slice(column + part.length)}`.slice(0, columns);
        column += part.length;
      }
    }
  };
  const shown = () => [...scrolled, ...screen].join('\n').trimEnd().split('\n');
  return { write, shown, place: () => ({ row, column }) };
}

function writerTo(write: (text: string) => void): TextWriter {
  return {
    isTerminal: true,
    hasColors: false,
    rewraps: true,
    broken: new AbortController().signal,
    size: () => ({ columns: 40, rows: 12 }),
    write: async (text) => write(text),
    lines: async () => undefined,
    say: async () => undefined,
  };
}

const frames = fc
  .array(fc.string({ minLength: 1, maxLength: 38, unit: fc.constantFrom('a', 'b', 'c') }), {
    minLength: 1,
    maxLength: 10,
  })
  .chain((lines) =>
    fc
      .option(fc.record({ row: fc.nat(lines.length - 1), column: fc.nat(38) }), { nil: undefined })
      .map((cursor): Frame => ({ lines: lines.map((line) => textLine(line)), cursor })),
  );

const textsOf = ({ lines }: Frame) => lines.map(([only]) => only?.text);

describe('the live region', () => {
  it('shows the last frame below all that was printed, whatever came before', async () => {
    const steps = fc.array(
      fc.oneof(frames, fc.string({ minLength: 1, maxLength: 38, unit: fc.constantFrom('x', 'y') })),
      {
        minLength: 1,
        maxLength: 12,
      },
    );
    await fc.assert(
      fc.asyncProperty(steps, frames, async (before, last) => {
        const screen = createScreen(40, 12);
        screen.write('$ command\r\n');
        const region = new LiveRegion(writerTo(screen.write));
        const printed: string[] = [];
        for (const step of before) {
          if (typeof step === 'string') {
            printed.push(step);
            await region.print([textLine(step)]);
          } else await region.draw(step);
        }
        await region.draw(last);
        expect(screen.shown()).toEqual(['$ command', ...printed, ...textsOf(last)]);
      }),
    );
  });

  it('leaves the cursor where somebody types', async () => {
    const screen = createScreen(40, 12);
    const region = new LiveRegion(writerTo(screen.write));
    await region.draw({
      lines: ['one', 'two', 'three'].map((line) => textLine(line)),
      cursor: { row: 1, column: 2 },
    });
    expect(screen.place()).toEqual({ row: 1, column: 2 });
  });

  it('leaves nothing when it ends', async () => {
    const screen = createScreen(40, 12);
    screen.write('$ command\r\n');
    const region = new LiveRegion(writerTo(screen.write));
    await region.draw({ lines: ['one', 'two'].map((line) => textLine(line)), cursor: undefined });
    await region.end();
    expect(screen.shown()).toEqual(['$ command']);
    expect(screen.place()).toEqual({ row: 1, column: 0 });
  });

  it('writes nothing for a frame that is on the screen', async () => {
    const written: string[] = [];
    const region = new LiveRegion(writerTo((text) => written.push(text)));
    const frame: Frame = { lines: [textLine('one')], cursor: undefined };
    await region.draw(frame);
    await region.draw(frame);
    expect(written).toHaveLength(1);
  });
});
