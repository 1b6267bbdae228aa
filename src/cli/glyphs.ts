/** Signs of the live view. Each takes one column; `branch` and the like take two. */
export interface Glyphs {
  readonly spinner: readonly string[];
  readonly done: string;
  readonly failed: string;
  readonly waiting: string;
  readonly stopped: string;
  readonly queued: string;
  readonly branch: string;
  readonly lastBranch: string;
  readonly trunk: string;
  readonly gap: string;
  readonly arrow: string;
}

const UNICODE: Glyphs = {
  spinner: ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'],
  done: '✓',
  failed: '✗',
  waiting: '?',
  stopped: '-',
  queued: '·',
  branch: '├ ',
  lastBranch: '└ ',
  trunk: '│ ',
  gap: '  ',
  arrow: '→',
};

const ASCII: Glyphs = {
  spinner: ['|', '/', '-', '\\'],
  done: '+',
  failed: 'x',
  waiting: '?',
  stopped: '-',
  queued: '.',
  branch: '|-',
  lastBranch: '`-',
  trunk: '| ',
  gap: '  ',
  arrow: '->',
};

/** Signs that the terminal can show: plain ones on the console of Linux, which has few others. */
export function glyphsFor(env: Readonly<Record<string, string | undefined>>): Glyphs {
  return env['TERM'] === 'linux' ? ASCII : UNICODE;
}
