import type { Model, StepEvent, StepOutcome, StepRequest } from '../../src/model/adapter.ts';
import { type OpenAiCompatibleOptions, openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import type { Reply, SseServer } from './sse-server.ts';

/** A request that says hello and offers no tools. */
export function request(overrides: Partial<StepRequest> = {}): StepRequest {
  return {
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
    tools: [],
    toolChoice: { type: 'auto' },
    settings: {},
    ...overrides,
  };
}

export interface RanStep {
  readonly events: readonly StepEvent[];
  readonly outcome: StepOutcome;
}

/** Reads one step to its end. */
export async function runStep(
  model: Model,
  stepRequest: StepRequest = request(),
  options: { signal?: AbortSignal; onActivity?: () => void } = {},
): Promise<RanStep> {
  const { signal = new AbortController().signal, ...rest } = options;
  const stream = model.step(stepRequest, { signal, ...rest });
  const events: StepEvent[] = [];
  for await (const event of stream.events) events.push(event);
  return { events, outcome: await stream.outcome };
}

/** Answers one request of a plain model with `reply`; tells how many requests that took. */
export async function playReply(
  server: SseServer,
  reply: Reply,
  options: Partial<OpenAiCompatibleOptions> = {},
): Promise<RanStep & { readonly requests: number }> {
  server.script(reply);
  const before = server.requests.length;
  const step = await runStep(openaiCompatible({ baseURL: `${server.origin}/v1`, model: 'm-1', ...options }));
  return { ...step, requests: server.requests.length - before };
}

/** All text, or all thinking, of an outcome. */
export function textOf(outcome: StepOutcome, type: 'text' | 'reasoning' = 'text'): string {
  return outcome.report.content.map((part) => (part.type === type ? part.text : '')).join('');
}
