import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { shownText } from '../../src/cli/line.ts';
import { commandLine, quoteWord } from '../../src/cli/shell-words.ts';

/** The words that a shell makes of a line. */
function wordsOf(line: string): readonly string[] {
  const out = execFileSync('bash', ['-c', `swarmwright() { printf '%s\\0' "$@"; }; ${line}`]);
  return out.toString().split('\0').slice(0, -1);
}

const ODD = [
  'plain.ts',
  'my agents.ts',
  "it's.ts",
  'a|b;c&d.ts',
  '$HOME/`id`.ts',
  '~/a.ts',
  '#1.ts',
  '=ls',
  '{a,b}*?.ts',
  'schön.ts',
  "two\nlines\tand\u0007a\\bell'.ts",
  '\u001b[2J1.ts',
  '\u202egnp.ts',
  '👩‍👧.ts',
  '',
];

describe('a printed word', () => {
  it.each(ODD)('%j is the same to a shell', (word) => {
    expect(wordsOf(`swarmwright ${quoteWord(word)}`)).toEqual([word]);
  });

  it.each(ODD)('%j loses nothing on its way through a terminal', (word) => {
    expect(shownText(quoteWord(word))).toBe(quoteWord(word));
  });
});

describe('a printed command', () => {
  it('has its options behind the operands', () => {
    expect(commandLine('resume', ['a b.ts', 's-1'], ' --pool p')).toBe(
      "swarmwright resume 'a b.ts' s-1 --pool p",
    );
  });

  it('has operands that look like options behind --', () => {
    expect(wordsOf(commandLine('resume', ['-a.ts', '-s'], ' --pool p'))).toEqual([
      'resume',
      '--pool',
      'p',
      '--',
      '-a.ts',
      '-s',
    ]);
  });
});
