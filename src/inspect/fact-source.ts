import type { MachineSet } from '../../machines/machine-kind.ts';
import { createProjector, type ProjectorOptions } from '../events/event-projector.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RecordOf } from '../ledger/records.ts';
import type { TransitionRecord } from '../lifecycle/transition-record.ts';
import { replayPath } from './replay-path.ts';

/** One fact on its way to a viewer. */
export interface PlacedFact {
  /** Grows from fact to fact: where reading goes on. */
  readonly position: number;
  /** The event as JSON; undefined for a fact that observers do not see. */
  readonly text: string | undefined;
  /** Facts before it that are no longer here. Default: none. */
  readonly missed?: number;
}

/** Where a page has its facts from: a ledger, or whatever else knows events in one order. */
export interface FactSource {
  /** Position of the newest fact; 0 when there is none. */
  position(): Promise<number>;
  /**
   * Facts after a position, up to another one that has been reached or, without it, also those that come, until `signal`
   * aborts. Pull-based: nothing is queued for whoever reads.
   */
  facts(after: number, signal: AbortSignal, upTo?: number): AsyncIterable<PlacedFact>;
  /** The way of one machine up to a place in its session; empty where that cannot be told. */
  path(instance: string, seq: number): Promise<readonly TransitionRecord[]>;
  /** What the model said in a step, which no event tells; undefined where it said nothing that is known. */
  said(step: string): Promise<SaidText | undefined>;
}

/** What a model said in one step, as it stands in the ledger. */
export interface SaidText {
  readonly text: string;
  readonly reasoning: string;
}

/** The facts of a ledger, as events. */
export function ledgerFacts(
  ledger: Ledger,
  { machines, ...options }: ProjectorOptions & { readonly machines?: MachineSet | undefined },
): FactSource {
  return {
    position: () => ledger.position(),
    async *facts(after, signal, upTo) {
      const projector = createProjector(ledger, options);
      for await (const positioned of ledger.tail(after, signal, upTo === undefined ? {} : { upTo })) {
        const event = await projector.project(positioned);
        yield { position: positioned.pos, text: event === undefined ? undefined : JSON.stringify(event) };
      }
    },
    async path(instance, seq) {
      const records = await ledger.read(instance.split('.')[0] ?? '');
      const before = records.filter((record) => record.seq <= seq);
      return replayPath(instance, before, machines);
    },
    async said(step) {
      const records = await ledger.read(step.split('.')[0] ?? '');
      const message = records.findLast(
        (record) => record.type === 'assistant.message' && record.step === step,
      );
      return message?.type === 'assistant.message' ? saidIn(message) : undefined;
    },
  };
}

function saidIn({ data }: RecordOf<'assistant.message'>): SaidText {
  const textOf = (type: 'text' | 'reasoning') =>
    data.content.flatMap((part) => (part.type === type ? [part.text] : [])).join('');
  return { text: textOf('text'), reasoning: textOf('reasoning') };
}
