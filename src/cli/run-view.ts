import type { RunResult } from '../agent/run-result.ts';
import type { ContentPolicy } from '../events/event-projector.ts';
import type { RunEvent } from '../events/event-schemas.ts';
import type { ResultPlace } from './result-lines.ts';

/** One way to show a run: a live view, plain lines, JSON lines, or the answer alone. */
export interface RunView {
  /** Whether events are to carry what models, tools and people say. */
  readonly wantsContent: ContentPolicy;
  /** Called once, before anything else. */
  start(): Promise<void>;
  /** Takes an event; the next one comes when it has resolved. */
  event(event: RunEvent): Promise<void>;
  /** A piece of the answer of the root agent, as it is written. */
  text(delta: string): void;
  /** Tells what a signal did. */
  notice(text: string): void;
  /** A line that a tool or the module itself printed. */
  printed(line: string): void;
  /** Called once, after the last event. Gives the terminal back. */
  end(result: RunResult<unknown>, how: Pick<ResultPlace, 'durationMs' | 'isOpen'>): Promise<void>;
}
