import { hasUnseen } from '../tools/safe-text.ts';

/** A word as a POSIX shell takes it. Characters that a terminal would not show are written as their bytes. */
export function quoteWord(word: string): string {
  // `=word` is the path of a command to zsh.
  if (/^(?!=)[\w./:@%+=,-]+$/.test(word)) return word;
  if (!isUnshown(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  return `$'${[...word].map(escapeCharacter).join('')}'`;
}

function isUnshown(text: string): boolean {
  return /[\n\t]/.test(text) || hasUnseen(text);
}

function escapeCharacter(character: string): string {
  if (character === "'" || character === '\\') return `\\${character}`;
  if (!isUnshown(character)) return character;
  const bytes = [...Buffer.from(character)];
  // Three octal digits end by themselves, whatever follows.
  return bytes.map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/**
 * A command of this program that can be pasted as it is. `options` begins with a space, or is empty. An operand that
 * looks like an option stands last, where it is none.
 */
export function commandLine(name: string, operands: readonly string[], options: string): string {
  const words = operands.map(quoteWord).join(' ');
  const isPlain = operands.every((operand) => !operand.startsWith('-'));
  return isPlain ? `swarmwright ${name} ${words}${options}` : `swarmwright ${name}${options} -- ${words}`;
}
