import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type AgentDefinition,
  createRuntime,
  defineAgent,
  defineTool,
  type Hooks,
  type LedgerRecord,
  memoryLedger,
} from '../../src/index.ts';
import { replayTurn } from '../../src/ledger/replay.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import type { ParsedRequest, ScriptedResponse } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { violationsOf } from '../invariants/session.ts';
import { liveEnds, replayedTurn } from '../recovery/fixtures/replayed.ts';
import { ofType } from '../support/run-events.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

/** Window 8,000, prompts up to 6,000 tokens. Each step adds about 1,000 tokens that are in no result. */
const WINDOW = 8_000;
const STEPS = 8;

const note = defineTool({
  name: 'note',
  description: 'Notes.',
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }) => `noted ${text.length}`,
});

const isSummary = ({ toolNames, system }: ParsedRequest) =>
  toolNames.length === 0 && system.includes('memory of an assistant');

interface Options {
  readonly steps?: number;
  readonly summary?: (request: ParsedRequest, count: number) => ScriptedResponse;
  readonly agent?: Partial<AgentDefinition<unknown>>;
  readonly hooks?: Hooks;
  readonly input?: string;
  readonly onStep?: (step: number) => void;
}

/** A turn that writes long arguments until it has made its steps. */
async function play(options: Options = {}) {
  let step = 0;
  let summaries = 0;
  const model = scriptedModel({
    contextWindow: WINDOW,
    script(request) {
      if (isSummary(request)) {
        summaries += 1;
        return options.summary?.(request, summaries) ?? reply().text(`Summary ${summaries}.`).usage(500, 20);
      }
      step += 1;
      options.onStep?.(step);
      return step <= (options.steps ?? STEPS)
        ? reply().call('note', { text: `${step}${'x'.repeat(4_000)}` })
        : reply().text('Done.');
    },
  });
  const agent = defineAgent({
    name: 'worker',
    instructions: 'Work.',
    model,
    tools: [note],
    limits: { attempts: { baseDelayMs: 0 } },
    ...options.agent,
  });
  const ledger = memoryLedger();
  const { runtime, misfits, transitions } = watchedRuntime({
    ledger,
    ...(options.hooks === undefined ? {} : { hooks: options.hooks }),
  });
  const run = runtime.run(agent, options.input ?? 'Note a lot.');
  const result = await run.result;
  const records = await ledger.read(run.sessionId);
  expect(misfits).toEqual([]);
  expect(violationsOf({ records })).toEqual([]);
  return { model, agent, runtime, ledger, run, result, records, transitions };
}

const stepRequests = (model: { readonly requests: readonly ParsedRequest[] }) =>
  model.requests.filter((request) => !isSummary(request));

const indexOf = (records: readonly LedgerRecord[], type: string) =>
  records.findIndex((record) => record.type === type);

describe('a history that grows too long', () => {
  it('CX-04 is folded into a checkpoint that is durable before it is used', async () => {
    const { model, result, records } = await play();
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', steps: STEPS + 1 });
    const folds = ofType(records, 'compaction.committed');
    expect(folds.length).toBeGreaterThanOrEqual(1);
    const after = records.slice(indexOf(records, 'compaction.committed'));
    expect(after.map(({ type }) => type).indexOf('step.opened')).toBeGreaterThan(0);
    const texts = stepRequests(model).map(({ messages }) => messages.map(({ text }) => text));
    const folded = texts.find((messages) => messages.some((text) => text.includes('Summary 1.')));
    expect(folded?.[0]).toBe('Note a lot.');
    expect(folded?.[1]).toContain('Summary 1.');
    for (const { request } of model.requests) expect(JSON.stringify(request).length / 4).toBeLessThan(WINDOW);
  });

  it('T28 keeps calls with their results in every request, that for the summary included', async () => {
    // The scripted model refuses what a strict provider would.
    const { model } = await play({ steps: 20 });
    expect(model.requests.every(({ violations }) => violations.length === 0)).toBe(true);
    const summary = model.requests.find(isSummary);
    expect(summary?.request.tools).toEqual([]);
    expect(summary?.request.messages.map(({ role }) => role)).toEqual(['user']);
  });

  it('CX-04 is folded again, with the checkpoint before as a part of it', async () => {
    const { model, records } = await play({ steps: 20 });
    expect(ofType(records, 'compaction.committed').length).toBeGreaterThanOrEqual(2);
    expect(model.requests.filter(isSummary)[1]?.lastText).toContain('Summary 1.');
    expect(
      stepRequests(model)
        .at(-1)
        ?.messages.filter(({ text }) => text.includes('Summary')),
    ).toHaveLength(1);
  });

  it('CX-04 shows compacting in the machine and tells its hooks', async () => {
    const seen: string[] = [];
    const { transitions } = await play({
      hooks: {
        onCompactionStarted: () => void seen.push('started'),
        onCompactionDone: () => void seen.push('done'),
        beforeCompaction: ({ estimatedTokens, windowTokens }) => {
          seen.push(`gate ${estimatedTokens > 6_000} ${windowTokens}`);
        },
      },
    });
    expect(seen.slice(0, 3).sort()).toEqual(['done', 'gate true 8000', 'started']);
    expect(transitions.filter(({ to }) => to === 'compacting')[0]).toMatchObject({ from: 'projecting' });
  });

  it('XC-01 replays to the states in which it ended live', async () => {
    const { records, transitions, run } = await play();
    const turn = `${run.sessionId}.1`;
    for (let end = 1; end < records.length; end += 1) {
      expect(replayedTurn(records.slice(0, end), turn).misfits, `up to ${end}`).toEqual([]);
    }
    const replayed = replayedTurn(records, turn);
    expect(replayed.misfits).toEqual([]);
    expect(Object.fromEntries(replayed.states)).toMatchObject(Object.fromEntries(liveEnds(transitions)));
    expect(replayTurn(records, turn).turn.map(({ type }) => type)).toContain('COMPACTED');
  });

  it('runs its effects with the fact of the fold', async () => {
    const facts: unknown[] = [];
    const { runtime } = await play({
      hooks: { afterCompaction: ({ type }) => void facts.push(type) },
    });
    await runtime.close();
    expect(facts[0]).toBe('compaction.committed');
  });

  it('counts what the summary cost', async () => {
    const { result, records } = await play();
    const folds = ofType(records, 'compaction.committed');
    expect(folds[0]?.data).toMatchObject({ requests: 1, usage: { inputTokens: 500, outputTokens: 20 } });
    expect(result.usage.reported.inputTokens).toBe(500 * folds.length);
  });

  it('MA-05 keeps what people said in the turn, word for word', async () => {
    let steer: Promise<unknown> | undefined;
    let run: { steer(text: string): Promise<unknown> } | undefined;
    const model = scriptedModel({
      contextWindow: WINDOW,
      script(request, index) {
        if (isSummary(request)) return reply().text('Summary.');
        if (index === 1) steer = run?.steer('Mind the gap.');
        return index < 14 ? reply().call('note', { text: 'x'.repeat(4_000) }) : reply().text('Done.');
      },
    });
    const agent = defineAgent({ name: 'worker', instructions: '', model, tools: [note] });
    await using runtime = createRuntime();
    const started = runtime.run(agent, 'Note a lot.');
    run = started;
    await started.result;
    expect(await steer).toMatchObject({ delivered: true });
    const last =
      stepRequests(model)
        .at(-1)
        ?.messages.map(({ text }) => text) ?? [];
    expect(last.slice(0, 3)).toEqual(['Note a lot.', expect.stringContaining('Summary.'), 'Mind the gap.']);
  });

  it('summarises earlier turns with the rest', async () => {
    const { runtime, agent, run, model } = await play({ steps: 4 });
    const again = runtime.run(agent, 'y'.repeat(9_000), { sessionId: run.sessionId });
    expect(await again.result).toMatchObject({ status: 'completed' });
    const last =
      stepRequests(model)
        .at(-1)
        ?.messages.map(({ text }) => text) ?? [];
    expect(last[0]).toContain('Summary 1.');
    expect(last.at(-1)).toBe('y'.repeat(9_000));
  });
});

describe('a fold that cannot be made', () => {
  it('CX-04 costs nothing under the window: the request goes as it is', async () => {
    const { result, records } = await play({
      steps: 6,
      summary: () => failure({ kind: 'auth', status: 401 }),
    });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(ofType(records, 'compaction.skipped')[0]?.data).toMatchObject({
      reason: 'summarizer_failed',
      fits: true,
      requests: 1,
    });
  });

  it('CX-04 ends the turn over the window, and says why', async () => {
    const { result, records } = await play({ summary: () => failure({ kind: 'auth', status: 401 }) });
    expect(result).toMatchObject({
      status: 'failed',
      error: { kind: 'context-budget-exhausted', detail: 'summarizer_failed' },
    });
    expect(ofType(records, 'turn.closed')[0]?.data.stopReason).toBe('context-budget-exhausted');
  });

  it('is tried again only when there is more to fold', async () => {
    const { model } = await play({ steps: 6, summary: () => failure({ kind: 'auth', status: 401 }) });
    expect(model.requests.filter(isSummary).length).toBeLessThanOrEqual(2);
  });

  it('CX-04 names a head that is too large by itself, without asking for a summary', async () => {
    const { model, result } = await play({ input: 'x'.repeat(40_000) });
    expect(model.requests).toEqual([]);
    expect(result).toMatchObject({ error: { detail: 'head_anchor_exceeds_capacity' } });
  });

  it('CX-04 names a history in which no completed step can go', async () => {
    const { result } = await play({
      steps: 1,
      input: 'x'.repeat(26_000),
      onStep: () => undefined,
      agent: {},
    });
    // One step is the tail, and the tail stays.
    expect(result).toMatchObject({ status: 'completed' });
    const over = await play({
      steps: 2,
      input: 'x'.repeat(20_000),
      agent: {
        tools: [
          defineTool({
            name: 'note',
            description: '',
            inputSchema: z.object({ text: z.string() }),
            execute: () => 'y'.repeat(14_000),
          }),
        ],
        limits: { context: { resultShare: 1 } },
      },
    });
    expect(over.result).toMatchObject({ error: { detail: 'no_safe_completed_span' } });
  });

  it('is refused by a gate, with the reason in the facts', async () => {
    const { result, records } = await play({ hooks: { beforeCompaction: () => ({ refuse: 'not now' }) } });
    expect(ofType(records, 'compaction.skipped')[0]?.data.reason).toBe('compaction_refused');
    expect(result).toMatchObject({ error: { detail: 'compaction_refused' } });
  });

  it('is not tried where the agent has none', async () => {
    const { model, result } = await play({ agent: { compaction: false } });
    expect(model.requests.some(isSummary)).toBe(false);
    expect(result).toMatchObject({ error: { detail: 'compaction_off' } });
  });

  it('asks another model where one is given', async () => {
    const writer = scriptedModel({ script: () => reply().text('By another.') });
    const { model, result } = await play({ agent: { compaction: { model: writer } } });
    expect(result.status).toBe('completed');
    expect(model.requests.some(isSummary)).toBe(false);
    expect(writer.requests.length).toBeGreaterThanOrEqual(1);
  });
});

describe('the summarizer', () => {
  it('asks again after what may pass, up to three times', async () => {
    const { result, records } = await play({
      summary: (_, count) =>
        count < 3 ? failure({ kind: 'overloaded', status: 503 }) : reply().text('At last.'),
    });
    expect(result.status).toBe('completed');
    expect(ofType(records, 'compaction.committed')[0]?.data).toMatchObject({
      requests: 3,
      summary: 'At last.',
    });
  });

  it('sends half of the transcript when that is too large as well', async () => {
    const { model } = await play({
      summary: (_, count) =>
        count === 1 ? failure({ kind: 'context-overflow', status: 400 }) : reply().text('Short.'),
    });
    const [first, second] = model.requests.filter(isSummary).map(({ lastText }) => lastText.length);
    expect(second).toBeLessThanOrEqual(first ?? 0);
  });

  it('takes no summary that is longer than what it replaces', async () => {
    const { records } = await play({ summary: () => reply().text('z'.repeat(60_000)) });
    for (const { data } of ofType(records, 'compaction.committed'))
      expect(data.toChars).toBeLessThan(data.fromChars);
  });

  it('stops at once with its turn', async () => {
    let stop = () => undefined as unknown;
    const model = scriptedModel({
      contextWindow: WINDOW,
      script(request, index) {
        if (!isSummary(request)) {
          return index < 14 ? reply().call('note', { text: 'x'.repeat(4_000) }) : reply().text('Done.');
        }
        stop();
        return reply().stall();
      },
    });
    const agent = defineAgent({ name: 'worker', instructions: '', model, tools: [note] });
    await using runtime = createRuntime();
    const run = runtime.run(agent, 'Note a lot.');
    stop = () => run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
  });
});
