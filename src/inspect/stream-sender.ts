import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';

/** Writes to a viewer no faster than it reads. */
export class StreamSender {
  readonly #response: ServerResponse;
  readonly #signal: AbortSignal;
  /** Nothing was sent since the last beat. */
  #isQuiet = false;

  constructor(response: ServerResponse, signal: AbortSignal) {
    this.#response = response;
    this.#signal = signal;
  }

  /** The viewer went away. */
  get isOver(): boolean {
    return this.#signal.aborted;
  }

  /** The viewer has not read what it was sent. */
  get isStalled(): boolean {
    return this.#response.writableNeedDrain;
  }

  /**
   * Resolves when the viewer may be sent more, in a later turn of the event loop: one with much to catch up on takes its
   * time from no agent.
   */
  async send(text: string): Promise<void> {
    if (this.#signal.aborted) return;
    this.#isQuiet = false;
    this.#response.write(text);
    // A socket that takes it at once says so within this turn of the loop.
    await setImmediate();
    if (this.isStalled && !this.#signal.aborted) await this.#drained();
  }

  /** A comment, where there was nothing else to say since the last beat. */
  beat(): void {
    if (this.#isQuiet && !this.isStalled && !this.#signal.aborted) this.#response.write(': alive\n\n');
    this.#isQuiet = true;
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#response.off('drain', done);
        this.#signal.removeEventListener('abort', done);
        resolve();
      };
      this.#response.once('drain', done);
      this.#signal.addEventListener('abort', done, { once: true });
    });
  }
}
