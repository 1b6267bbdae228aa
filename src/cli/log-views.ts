import { eventLine } from './event-line.ts';
import { jsonText } from './json-text.ts';
import { textLine } from './line.ts';
import type { RunPlace } from './next-commands.ts';
import { answerLines, endingLines } from './result-lines.ts';
import type { RunView } from './run-view.ts';
import type { TextWriter } from './text-writer.ts';

/** What the views need that are no live view. */
export interface LogViewParts {
  readonly out: TextWriter;
  readonly err: TextWriter;
  readonly withContent: boolean;
  /** Where a run is, so that its end can say how to go on. */
  readonly place: RunPlace;
}

/** One line for each thing that happens, then the answer and how it ended. */
export function plainView({ out, err, withContent, place }: LogViewParts): RunView {
  return {
    // Of a step and its attempts nothing is said but why they failed.
    wantsContent: withContent || ['step', 'attempt'],
    start: async () => undefined,
    async event(event) {
      const line = eventLine(event, place);
      if (line !== undefined) await out.lines([line]);
    },
    text: () => undefined,
    notice: (text) => void err.say(text),
    printed: (line) => void out.say(line),
    async end(result, how) {
      await out.lines([...answerLines(result), ...endingLines(result, { ...place, ...how })]);
    },
  };
}

/** The answer on standard output; what a person has to know on standard error. */
export function quietView({ out, err, place }: LogViewParts): RunView {
  return {
    wantsContent: false,
    start: async () => undefined,
    async event(event) {
      const line = event.type === 'approval.requested' ? eventLine(event, place) : undefined;
      if (line !== undefined) await err.lines([line]);
    },
    text: () => undefined,
    notice: (text) => void err.say(text),
    printed: (line) => void err.say(line),
    async end(result, how) {
      await out.lines(answerLines(result));
      if (result.status !== 'completed') await err.lines(endingLines(result, { ...place, ...how }));
    },
  };
}

/** Every event as one line of JSON, and the result as the last one. */
export function jsonView({ out, err, withContent, place }: LogViewParts): RunView {
  return {
    wantsContent: withContent,
    start: async () => undefined,
    event: (event) => out.write(`${jsonText(event)}\n`),
    text: () => undefined,
    notice: (text) => void err.say(text),
    printed: (line) => void err.lines([textLine(line)]),
    async end(result, { durationMs }) {
      const { sessionId } = place;
      await out.write(`${jsonText({ type: 'result', session: sessionId, durationMs, ...result })}\n`);
    },
  };
}
