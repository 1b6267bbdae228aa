import type { ToolOutput } from '../ledger/content.ts';

/**
 * What an implementation that is not ours returned, whatever it looks like, with a view of it that is more than
 * `toModelOutput` could make of the value alone.
 */
export class ShownResult {
  /** What is kept. */
  readonly value: unknown;
  /** What the model sees; a throw is an error result, as with `toModelOutput`. Absent: the value itself. */
  readonly show: (() => ToolOutput) | undefined;

  constructor(value: unknown, show?: () => ToolOutput) {
    this.value = value;
    this.show = show;
  }
}
