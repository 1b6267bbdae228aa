import { createHash } from 'node:crypto';

/**
 * How ids of calls go back to a provider: `native` = as they came; `token` = as they came where they match
 * `[a-zA-Z0-9_-]{1,64}`; `hash9` = exactly nine letters and digits. What does not fit is replaced by a hash
 * of it, so the same history always gives the same bytes.
 */
export type WireIdPolicy = 'native' | 'token' | 'hash9';

const USABLE: { readonly [P in WireIdPolicy]: RegExp } = {
  native: /^/,
  token: /^[a-zA-Z0-9_-]{1,64}$/,
  hash9: /^[a-zA-Z0-9]{9}$/,
};

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Maps the ids of one request. Earlier ids are mapped first, so a longer history keeps the ids of a shorter. */
export function createWireIds(policy: WireIdPolicy): (id: string) => string {
  if (policy === 'native') return (id) => id;
  const mapped = new Map<string, string>();
  const taken = new Set<string>();
  return (id) => {
    const known = mapped.get(id);
    if (known !== undefined) return known;
    let wireId = USABLE[policy].test(id) ? id : hashOf(id, 0);
    for (let salt = 1; taken.has(wireId); salt++) wireId = hashOf(id, salt);
    mapped.set(id, wireId);
    taken.add(wireId);
    return wireId;
  };
}

function hashOf(id: string, salt: number): string {
  const digest = createHash('sha256')
    .update(salt === 0 ? id : `${id}#${salt}`)
    .digest();
  let text = '';
  // 256 is no multiple of 62: the first letters are a little likelier, which harms no identity.
  for (const byte of digest.subarray(0, 9)) text += ALPHABET[byte % ALPHABET.length];
  return text;
}
