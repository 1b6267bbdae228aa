import { createProjector, type Projector, type ProjectorOptions } from '../events/event-projector.ts';
import type { Ledger, PositionedRecord } from '../ledger/ledger.ts';

/** The event of a record as JSON; undefined where observers do not see it. */
export type WriteEvent = (positioned: PositionedRecord) => Promise<string | undefined>;

/** Texts kept for viewers that are a little behind the first, and the longest that is. */
const MAX_KEPT = 512;
const MAX_KEPT_CHARS = 16 * 1024;

/**
 * Writes the events of a ledger for any number of viewers: those that are about as far share each text, so that a
 * second one costs next to nothing, and who reads what lies further back has it written for itself.
 * @returns what makes the {@link WriteEvent} of one viewer, which asks in the order of the ledger
 */
export function createEventTexts(ledger: Pick<Ledger, 'read'>, options: ProjectorOptions): () => WriteEvent {
  const shared = createProjector(ledger, options);
  const kept = new Map<number, Promise<string | undefined>>();
  let newest = 0;

  const writeNew = async (positioned: PositionedRecord): Promise<string | undefined> => {
    let text: string | undefined;
    try {
      text = await textFrom(shared, positioned);
    } catch (error) {
      kept.delete(positioned.pos);
      throw error;
    }
    if (text !== undefined && text.length > MAX_KEPT_CHARS) kept.delete(positioned.pos);
    return text;
  };
  const keep = (position: number, writing: Promise<string | undefined>) => {
    newest = position;
    kept.set(position, writing);
    const [oldest = position] = kept.keys();
    if (kept.size > MAX_KEPT) kept.delete(oldest);
    return writing;
  };

  return () => {
    let own: Projector | undefined;
    return (positioned) => {
      if (positioned.pos > newest) return keep(positioned.pos, writeNew(positioned));
      own ??= createProjector(ledger, options);
      return kept.get(positioned.pos) ?? textFrom(own, positioned);
    };
  };
}

async function textFrom(projector: Projector, positioned: PositionedRecord): Promise<string | undefined> {
  const event = await projector.project(positioned);
  return event === undefined ? undefined : JSON.stringify(event);
}
