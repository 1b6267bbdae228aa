import { z } from 'zod';
import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerRecord, RecordOf } from '../ledger/records.ts';
import type { BoundTool } from '../tools/binding.ts';
import { once, ownTool } from '../tools/own-tool.ts';
import { RuntimeToolResult, runtimeTool } from '../tools/runtime-tool.ts';
import { cutChars, safeName } from '../tools/safe-text.ts';
import { textOfOutput } from './prune-results.ts';

/** Name of the tool that reads results which are not in the request. */
export const READ_ARTIFACT = 'read_artifact';

const DEFAULT_CHARS = 4_000;
const MAX_CHARS = 6_000;

const inputSchema = z.object({
  id: z.string().describe('The id that stands where the result was left out, for example "1.2.0".'),
  offset: z.int().min(0).optional().describe('First character to read. Default 0.'),
  limit: z
    .int()
    .min(1)
    .optional()
    .describe(`Characters to read at most. Default ${DEFAULT_CHARS}, at most ${MAX_CHARS}.`),
});

const definition = once(() =>
  ownTool({
    name: READ_ARTIFACT,
    description:
      'Reads a result of an earlier call that was left out of the conversation to save space, one page at a time.',
    inputSchema,
  }),
);

/** Where results of a session lie. */
export interface ResultStore {
  readonly sessionId: string;
  readonly ledger: Pick<Ledger, 'read' | 'getArtifact'>;
  /** Sequence of the fact that holds the result of a handle; `undefined` where the session has none. */
  seqOf(handle: string): number | undefined;
}

/** The tool for one turn: reads what models of this session have been given, and nothing else. */
export function readArtifact(store: ResultStore): BoundTool {
  return runtimeTool(definition(), async (given) => {
    const { id, offset = 0, limit = DEFAULT_CHARS } = inputSchema.parse(given);
    const text = await wholeText(store, id);
    if (text === undefined) return failed(`There is no result with the id ${safeName(id)}.`);
    if (offset > 0 && offset >= text.length) {
      return failed(`The result has ${text.length} characters; there is nothing at ${offset}.`);
    }
    const page = pageOf(text, offset, Math.min(limit, MAX_CHARS));
    return new RuntimeToolResult({ type: 'text', text: page }, [], () => undefined);
  });
}

function failed(text: string): RuntimeToolResult {
  return new RuntimeToolResult({ type: 'error', text: cutChars(text, MAX_CHARS) }, [], () => undefined);
}

/** No character is split, so that pages put together are the whole. */
function pageOf(text: string, offset: number, limit: number): string {
  const start = isSplit(text, offset) ? offset - 1 : offset;
  const wished = start + limit;
  const end = isSplit(text, wished) ? Math.max(wished - 1, start + 2) : wished;
  const rest = end < text.length ? `; go on with offset ${end}` : '';
  return `${text.slice(start, end)}\n[Characters ${start} to ${Math.min(end, text.length)} of ${text.length}${rest}.]`;
}

function isSplit(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

async function wholeText(store: ResultStore, handle: string): Promise<string | undefined> {
  const seq = store.seqOf(handle);
  if (seq === undefined) return undefined;
  const [record] = await store.ledger.read(store.sessionId, seq);
  return record === undefined ? undefined : textOfFact(record, store);
}

async function textOfFact(record: LedgerRecord, store: ResultStore): Promise<string | undefined> {
  if (record.type === 'tool.refused') return record.data.text;
  return record.type === 'tool.settled' ? settledText(record, store) : undefined;
}

/**
 * What the model was to see, whole. A tool that maps its result for the model hides the rest on purpose: the value it
 * returned is kept as JSON and never read here.
 */
async function settledText(
  { data }: RecordOf<'tool.settled'>,
  { ledger }: ResultStore,
): Promise<string | undefined> {
  if (data.resultRef?.mediaType.startsWith('text/plain')) {
    return new TextDecoder().decode(await ledger.getArtifact(data.resultRef));
  }
  return textOfOutput(data.output);
}
