import type { MachineSet } from '../../machines/machine-kind.ts';
import type { ProjectorOptions } from '../events/event-projector.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RecordOf } from '../ledger/records.ts';
import type { TransitionRecord } from '../lifecycle/transition-record.ts';
import { createEventTexts } from './event-texts.ts';
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
  /** Facts after a position, then those that come, until `signal` aborts. Pull-based: nothing is queued for a viewer. */
  facts(after: number, signal: AbortSignal): AsyncIterable<PlacedFact>;
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

/** The facts of a ledger, for all viewers of a page. */
export function ledgerFacts(
  ledger: Ledger,
  { machines, ...options }: ProjectorOptions & { readonly machines?: MachineSet | undefined },
): FactSource {
  const writerOf = createEventTexts(ledger, options);
  return {
    position: () => ledger.position(),
    async *facts(after, signal) {
      const write = writerOf();
      for await (const positioned of ledger.tail(after, signal)) {
        yield { position: positioned.pos, text: await write(positioned) };
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
