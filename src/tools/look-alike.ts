/** ASCII characters that fonts draw alike, and what stands for each kind. */
const CONFUSABLE: ReadonlyMap<string, string> = new Map([
  ['0', 'o'],
  ['O', 'o'],
  ['1', 'l'],
  ['I', 'l'],
  ['m', 'rn'],
  ['w', 'vv'],
]);

/**
 * Keys of a tool name; two names that share one cannot be told apart by a reader. The first ignores case, the second
 * also what is drawn alike: `0` and `O`, `1`, `l` and `I`, `rn` and `m`, `vv` and `w`.
 */
export function lookAlikeKeys(name: string): readonly [folded: string, skeleton: string] {
  let skeleton = '';
  for (const char of name) skeleton += CONFUSABLE.get(char) ?? char;
  return [name.toLowerCase(), skeleton.toLowerCase()];
}
