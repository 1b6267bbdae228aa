import { styleText } from 'node:util';
import type { Line, Style } from './line.ts';

type Format = Parameters<typeof styleText>[0];

const FORMATS: Readonly<Record<Exclude<Style, 'plain'>, Format>> = {
  dim: 'dim',
  bold: 'bold',
  good: 'green',
  bad: 'red',
  warn: 'yellow',
  accent: 'cyan',
  inverse: 'inverse',
};

/** Makes a line into what is written: with `colors` the only escape sequences in it are ours, for colours. */
export function paintLine(line: Line, colors: boolean): string {
  return line
    .map(({ text, style }) =>
      // Whether the stream takes colours was asked before; asking it for each span costs a look at the environment.
      colors && style !== 'plain' && text !== ''
        ? styleText(FORMATS[style], text, { validateStream: false })
        : text,
    )
    .join('');
}
