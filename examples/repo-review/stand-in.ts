// Stands in for a model where no endpoint is given. It knows nothing of the folder: like a model, it sees the request
// and nothing else, calls tools, and goes by what they return.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';
import { worthReading } from './findings.ts';
import { writeReport } from './report.ts';
import { MARKERS } from './reviewer.ts';
import { readResults } from './tool-results.ts';

/** Pages of a listing it looks at. */
const MAX_PAGES = 20;

export function script(request: ParsedRequest): Reply {
  return withUsage(request, nextWords(request));
}

function nextWords(request: ParsedRequest): Reply {
  const results = readResults(request);
  const { listings, matches, read, written } = results;
  if (results.calls === 0) return reply().text('I look at what is there.').call('list_files', { from: 0 });
  const next = listings.at(-1)?.next;
  if (next !== undefined && listings.length < MAX_PAGES && matches === undefined) {
    return reply().call('list_files', { from: next });
  }
  const files = listings.flatMap((listing) => listing.files);
  if (files.length > 0 && matches === undefined && read.length === 0 && results.complaints.length === 0) {
    return worthReading(files).reduce(
      (answer, path) => answer.call('read_file', { path }),
      reply().call('search_files', { words: [...MARKERS], inComments: true }),
    );
  }
  const report = writeReport(nameIn(request), results);
  if (request.toolNames.includes('write_report') && written === undefined) {
    return reply().call('write_report', { text: report });
  }
  const answer = written === undefined ? report : `${report}\n\n_The report: ${written}._`;
  return reply().text(answer, { chars: 40 });
}

/** The folder's name as the user wrote it. */
function nameIn({ messages }: ParsedRequest): string {
  const asked = messages.findLast(({ role }) => role === 'user')?.text ?? '';
  const quoted = /"(?:[^"\\]|\\.)*"/.exec(asked)?.[0];
  return quoted === undefined ? 'the folder' : String(JSON.parse(quoted));
}

/** About four characters to a token, as English text has them. */
function withUsage(request: ParsedRequest, answer: Reply): Reply {
  const sent = request.messages.reduce((sum, { text }) => sum + text.length, request.system.length);
  const said = JSON.stringify(answer.parts).length;
  return answer.usage(Math.ceil(sent / 4), Math.ceil(said / 4));
}
