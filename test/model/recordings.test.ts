import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StepOutcome } from '../../src/model/adapter.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { playReply, textOf } from '../support/run-step.ts';
import { raw, type SseServer, sse, startSseServer } from '../support/sse-server.ts';

const root = process.env['SWARMWRIGHT_DATA'];
const folder = root === undefined ? undefined : join(root, 'provider-streams');
const reason =
  folder === undefined
    ? 'SWARMWRIGHT_DATA is not set'
    : existsSync(join(folder, 'README.md'))
      ? undefined
      : `${folder} holds no recordings`;

interface Recording {
  readonly file: string;
  /** Characters of text and of thinking. */
  readonly chars: string;
  readonly calls: string;
  readonly result: string;
}

/** The table of the recordings: file, size, origin, licence, characters, calls, result, note. */
function recordings(from: string): Recording[] {
  const rows = readFileSync(join(from, 'README.md'), 'utf8').split('\n');
  return rows
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .filter((cells) => /\.txt$/.test(cells[1] ?? ''))
    .map(([, file = '', , , , chars = '', calls = '', result = '']) => ({ file, chars, calls, result }));
}

/** An outcome in the words of the table. */
function resultOf(outcome: StepOutcome): string {
  const usage = outcome.report.usage === undefined ? 'usage=false' : 'usage=true';
  if (outcome.type === 'completed') return `completed/${outcome.finish.reason} ${usage}`;
  if (outcome.type === 'aborted') return 'aborted';
  const { kind, retryable, code, detail } = outcome.failure;
  return ['failed/', kind, retryable ? ' retryable' : '', ` ${code ?? ''}`, detail ? ` ${detail}` : ''].join(
    '',
  );
}

/** A stream with text and usage and no finish reason is whole; the table was written under another rule. */
function expectedOf({ result, chars }: Recording): string {
  const isWhole = result.endsWith('no-finish') && !chars.startsWith('0 ');
  return isWhole ? 'completed/other usage=true' : result;
}

describe.skipIf(reason !== undefined)(`recorded streams${reason === undefined ? '' : ` (${reason})`}`, () => {
  let server: SseServer;
  beforeAll(async () => {
    server = await startSseServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  expectSilence();

  const all = folder === undefined || reason !== undefined ? [] : recordings(folder);

  it('lists every file of the folder', () => {
    const files = readdirSync(folder ?? '').filter((file) => file.endsWith('.txt'));
    expect(all.map(({ file }) => file).sort()).toEqual(files.sort());
    expect(files.length).toBeGreaterThan(0);
  });

  it.each(all)('$file replays as recorded', async (recording) => {
    const content = readFileSync(join(folder ?? '', recording.file), 'utf8');
    const reply = recording.file.endsWith('.sse.txt')
      ? raw(content)
      : sse(content.split('\n').filter((line) => line.trim() !== ''));
    const { outcome, requests } = await playReply(server, reply);
    expect(requests).toBe(1);
    expect(resultOf(outcome)).toBe(expectedOf(recording));
    expect(`${textOf(outcome).length} / ${textOf(outcome, 'reasoning').length}`).toBe(recording.chars);
    expect(outcome.report.calls.map(({ toolName }) => toolName).join('+') || '-').toBe(recording.calls);
    for (const { input } of outcome.report.calls) expect(JSON.parse(input)).toBeTypeOf('object');
    if (recording.result.endsWith('no-finish') && outcome.type === 'completed') {
      expect(outcome.report.warnings).toEqual([expect.stringMatching(/^missing-finish/)]);
    }
  });
});
