/** Work on one session, one after the other in the order of the calls; different sessions do not wait for each other. */
export class SessionLanes {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` once all that was given before for the session is done. Rejects as `work` does. */
  run<T>(session: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(session) ?? Promise.resolve();
    const result = before.then(work);
    const done: Promise<unknown> = result.then(
      () => this.#leave(session, done),
      () => this.#leave(session, done),
    );
    this.#last.set(session, done);
    return result;
  }

  /** Resolves when all that was given so far is done. */
  async idle(): Promise<void> {
    await Promise.all(this.#last.values());
  }

  #leave(session: string, done: Promise<unknown>): void {
    if (this.#last.get(session) === done) this.#last.delete(session);
  }
}
