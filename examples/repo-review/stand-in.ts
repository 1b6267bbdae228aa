// Stands in for a model where no endpoint is given. It knows nothing of the folder: like a model, it sees the request
// and nothing else, calls tools, and goes by what they return.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';
import { worthReading } from './findings.ts';
import { reviewOf, writeReport } from './report.ts';
import { MARKERS, MAX_PARTS } from './review-swarm.ts';
import { readResults, type ToolResults } from './tool-results.ts';

/** Pages of a listing it looks at. */
const MAX_PAGES = 20;

export function script(request: ParsedRequest): Reply {
  const results = readResults(request);
  const isLead = request.toolNames.includes('update_agent_graph');
  return withUsage(request, isLead ? leadSays(request, results) : reviewerSays(request, results));
}

/** Lists, gives each part to a reviewer, waits, reads what they found, and merges it. */
function leadSays(request: ParsedRequest, results: ToolResults): Reply {
  const { called, works, written } = results;
  const more = listingOn(results, []);
  if (more !== undefined) return more;
  const parts = partsOf(results.listings.flatMap(({ files }) => files));
  if (parts.length > 0 && !called.includes('update_agent_graph')) return scheduling(parts);
  if (works.length > 0 && !called.includes('agent_output')) {
    return isSettled(request)
      ? readingOf(works)
      : reply().call('yield_agent_graph', { reason: 'reviews run' });
  }
  const report = writeReport(nameIn(request), results);
  if (request.toolNames.includes('write_report') && written === undefined) {
    return reply().call('write_report', { text: report });
  }
  const answer = written === undefined ? report : `${report}\n\n_The report: ${written}._`;
  return reply().text(answer, { chars: 40 });
}

/** The next page of a listing, or `undefined` where all of it is there. */
function listingOn({ called, listings }: ToolResults, under: readonly string[]): Reply | undefined {
  if (called.length === 0) {
    return reply()
      .text('I look at what is there.')
      .call('list_files', { under: [...under], from: 0 });
  }
  const next = listings.at(-1)?.next;
  const isListing = called.every((name) => name === 'list_files');
  if (next === undefined || !isListing || listings.length >= MAX_PAGES) return undefined;
  return reply().call('list_files', { under: [...under], from: next });
}

/** Upper folders, and the files that are in none; the last part takes what is over the bound. */
function partsOf(files: readonly { readonly path: string }[]): readonly (readonly string[])[] {
  const tops = new Set(
    files.map(({ path }) => (path.includes('/') ? path.slice(0, path.indexOf('/') + 1) : './')),
  );
  const all = [...tops].sort().map((top) => [top]);
  const over = all.slice(MAX_PARTS - 1).flat();
  return over.length > 1 ? [...all.slice(0, MAX_PARTS - 1), over] : all;
}

function scheduling(parts: readonly (readonly string[])[]): Reply {
  const add_work = parts.map((part) => ({
    target: { type: 'new_agent', id: 'reviewer' },
    instruction: `Review the part ${JSON.stringify(part)}`,
  }));
  return reply()
    .text(`I have ${parts.length} parts reviewed.`)
    .call('update_agent_graph', { operation: 'add_work', add_work });
}

/** Whether the lead was woken because nothing is open any more. */
function isSettled({ messages }: ParsedRequest): boolean {
  const told = messages.findLast(({ role }) => role === 'user')?.text ?? '';
  return /"counts":\{(?!.*?"(?:queued|running|blocked)":).*?\}/.test(told);
}

function readingOf(works: readonly string[]): Reply {
  return works.reduce((answer, target_id) => answer.call('agent_output', { target_id }), reply());
}

/** Lists its part, finds the other tools, searches and reads, and hands in what it found. */
function reviewerSays(request: ParsedRequest, results: ToolResults): Reply {
  const { called, listings } = results;
  const part = partIn(request);
  const more = listingOn(results, part);
  if (more !== undefined) return more;
  if (!called.includes('tool_search')) return reply().call('tool_search', { query: 'search and read files' });
  if (!called.includes('search_files') && request.toolNames.includes('search_files')) {
    return worthReading(listings.flatMap(({ files }) => files)).reduce(
      (answer, path) => answer.call('read_file', { path }),
      reply().call('search_files', { words: [...MARKERS], inComments: true, under: [...part] }),
    );
  }
  return reply().call('submit_output', reviewOf(results));
}

/** The part as the lead named it. */
function partIn({ messages }: ParsedRequest): readonly string[] {
  const asked = messages.find(({ role }) => role === 'user')?.text ?? '';
  const list = /^Review the part (\[.*\])/.exec(asked)?.[1];
  const parsed: unknown = list === undefined ? [] : JSON.parse(list);
  return Array.isArray(parsed) ? parsed.map(String) : [];
}

/** The folder's name as the user wrote it. */
function nameIn({ messages }: ParsedRequest): string {
  const asked = messages.find(({ role }) => role === 'user')?.text ?? '';
  const quoted = /"(?:[^"\\]|\\.)*"/.exec(asked)?.[0];
  return quoted === undefined ? 'the folder' : String(JSON.parse(quoted));
}

/** About four characters to a token, as English text has them. */
function withUsage(request: ParsedRequest, answer: Reply): Reply {
  const sent = request.messages.reduce((sum, { text }) => sum + text.length, request.system.length);
  const said = JSON.stringify(answer.parts).length;
  return answer.usage(Math.ceil(sent / 4), Math.ceil(said / 4));
}
