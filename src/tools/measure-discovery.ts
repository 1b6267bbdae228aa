import type { LedgerRecord, RecordData, RecordOf } from '../ledger/records.ts';

/** What a turn knew of its tools, beside its facts. */
export interface DiscoveryView {
  readonly deferredCount: number;
  isDeferred(name: string): boolean;
  /** A tool of the runtime: its success is not what the turn was for. */
  isOwn(name: string): boolean;
  /** Deferred tools that became visible, in activation order. */
  readonly exposed: readonly string[];
  schemaCharsOf(name: string): number;
  /** Results a search activates unless the model asks for another number. */
  readonly k: number;
}

/** What discovery was worth in one turn. */
export type DiscoveryMeasure = RecordData<'tools.measured'>;

/**
 * Measures discovery by the facts of one turn, in order. Pure, so that a turn which was resumed is measured as a
 * whole, and a stored one again.
 */
export function measureDiscovery(records: readonly LedgerRecord[], view: DiscoveryView): DiscoveryMeasure {
  const steps = stepsOf(records);
  const searches = ofType(records, 'tools.searched').map((record) => readSearch(record, steps));
  const calls = ofType(records, 'tool.called')
    .filter(({ data }) => view.isDeferred(data.toolName))
    .map((record) => readCall(record, records, steps));
  const calledDeferred = unique(calls.filter((call) => call.wasReached).map((call) => call.name));
  const unused = view.exposed.filter((name) => !calledDeferred.includes(name));
  const chars = (names: readonly string[]) => names.reduce((sum, name) => sum + view.schemaCharsOf(name), 0);
  return {
    deferredCount: view.deferredCount,
    exposedDeferred: [...view.exposed],
    exposedDeferredSchemaChars: chars(view.exposed),
    calledDeferred,
    exposedUnusedCount: unused.length,
    exposedUnusedSchemaChars: chars(unused),
    searchCount: searches.length,
    repeatedSearchCount: searches.length - new Set(searches.map(({ words }) => words)).size,
    revisedSearchCount: searches.filter((search) => isRevision(search, searches, calls)).length,
    emptySearchCount: searches.filter(({ results }) => results.length === 0).length,
    ...retrieval(calls, searches, view.k),
    hiddenCallRejections: ofType(records, 'tool.refused').filter(({ data }) => HIDDEN.has(data.code)).length,
    ...firstSuccess(records, steps, view),
    toolsBlockChanges: ofType(records, 'step.opened').filter(({ data }) => data.toolsChange !== undefined)
      .length,
  };
}

/** Codes of calls that came before their tool was loaded. */
const HIDDEN: ReadonlySet<string> = new Set(['not-active', 'needs-schema']);

type StepsById = ReadonlyMap<string, RecordData<'step.opened'>>;

interface Search {
  readonly step: number;
  /** The query as far as two of them are the same. */
  readonly words: string;
  readonly ranked: readonly string[];
  /** What it found that can be called now or from the next step on. */
  readonly results: readonly string[];
}

interface Call {
  readonly step: number;
  readonly name: string;
  /** The tool was active, or ran all the same. */
  readonly wasReached: boolean;
}

function stepsOf(records: readonly LedgerRecord[]): StepsById {
  return new Map(ofType(records, 'step.opened').map(({ step = '', data }) => [step, data]));
}

function readSearch({ step = '', data }: RecordOf<'tools.searched'>, steps: StepsById): Search {
  return {
    step: steps.get(step)?.index ?? 0,
    words: data.query.normalize('NFKC').toLowerCase().trim().replace(/\s+/gu, ' '),
    ranked: data.ranked,
    results: [...data.activated, ...data.alreadyActive],
  };
}

function readCall(
  { step = '', call, data }: RecordOf<'tool.called'>,
  records: readonly LedgerRecord[],
  steps: StepsById,
): Call {
  const opened = steps.get(step);
  const isActive = opened?.active.includes(data.toolName) ?? false;
  const ran = records.some((record) => record.type === 'tool.dispatched' && record.call === call);
  return { step: opened?.index ?? 0, name: data.toolName, wasReached: isActive || ran };
}

/** Other words after results of which none was called: the search before had not found what was meant. */
function isRevision(search: Search, searches: readonly Search[], calls: readonly Call[]): boolean {
  const before = searches.filter(({ step }) => step < search.step);
  const lastStep = Math.max(...before.map(({ step }) => step));
  const last = before.filter(({ step }) => step === lastStep);
  if (last.length === 0 || before.some(({ words }) => words === search.words)) return false;
  const found = new Set(last.flatMap(({ results }) => results));
  return !calls.some((call) => found.has(call.name) && call.step > lastStep && call.step <= search.step);
}

type Retrieval = Pick<DiscoveryMeasure, 'wanted' | 'recallAtK' | 'k' | 'missOutsideCap'>;

/** How searches ranked what was called in the end: each name by the searches before the last of its calls. */
function retrieval(calls: readonly Call[], searches: readonly Search[], k: number): Retrieval {
  const wanted = unique(calls.map(({ name }) => name)).map((name) => {
    const lastStep = Math.max(...calls.filter((call) => call.name === name).map(({ step }) => step));
    const before = searches.filter(({ step, ranked }) => step < lastStep && ranked.includes(name));
    return {
      name,
      rank: Math.min(...before.map(({ ranked }) => ranked.indexOf(name) + 1)),
      wasCut: before.some(({ results }) => !results.includes(name)),
    };
  });
  const share = wanted.filter(({ rank }) => rank <= k).length / wanted.length;
  return {
    wanted: wanted.map(({ name, rank }) => (Number.isFinite(rank) ? { name, rank } : { name })),
    ...(wanted.length === 0 ? {} : { recallAtK: share }),
    k,
    missOutsideCap: wanted.filter(({ wasCut }) => wasCut).length,
  };
}

type FirstSuccess = Pick<
  DiscoveryMeasure,
  'timeToFirstSuccessfulToolCallMs' | 'stepsToFirstSuccessfulToolCall'
>;

function firstSuccess(
  records: readonly LedgerRecord[],
  steps: StepsById,
  view: Pick<DiscoveryView, 'isOwn'>,
): FirstSuccess {
  const first = ofType(records, 'tool.settled').find(
    ({ data }) => data.status === 'success' && !view.isOwn(data.toolName),
  );
  const [opened] = ofType(records, 'turn.opened');
  if (first === undefined || opened === undefined) return {};
  const step = steps.get(first.step ?? '')?.index;
  return {
    // A wall clock may have been set back.
    timeToFirstSuccessfulToolCallMs: Math.max(0, first.at - opened.at),
    ...(step === undefined ? {} : { stepsToFirstSuccessfulToolCall: step }),
  };
}

function ofType<T extends LedgerRecord['type']>(
  records: readonly LedgerRecord[],
  type: T,
): readonly RecordOf<T>[] {
  return records.filter((record): record is RecordOf<T> => record.type === type);
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
