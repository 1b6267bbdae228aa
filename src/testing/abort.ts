/** Waits for the work or for the abort, whichever is first; leaves no listener. */
export async function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const stop = Promise.withResolvers<void>();
  const onAbort = () => stop.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, stop.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Waits for nothing but the abort. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return unlessAborted(new Promise(() => {}), signal);
}
