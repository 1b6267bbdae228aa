/** Part of a list that is not too much for one tool result. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next one begins; absent at the end. */
  readonly next?: number;
}

/** Items from `from` on, as many as fit. At least one, so that who goes on with `next` comes to the end. */
export function pageOf<T>(
  all: readonly T[],
  from: number,
  max: { readonly items: number; readonly bytes: number },
): Page<T> {
  let [at, bytes] = [from, 0];
  while (at < all.length && at - from < max.items) {
    bytes += Buffer.byteLength(JSON.stringify(all[at]));
    if (bytes > max.bytes && at > from) break;
    at += 1;
  }
  return { items: all.slice(from, at), ...(at < all.length ? { next: at } : {}) };
}
