import type { CallOptions, LanguageModel, StreamPart } from '../../src/model/language-model.ts';

/** A stream of the given parts that then closes, or breaks with `error`, or stays open. */
export function streamOf(
  parts: readonly StreamPart[],
  end: { readonly error: unknown } | 'close' | 'open' = 'close',
): ReadableStream<StreamPart> {
  let at = 0;
  return new ReadableStream<StreamPart>(
    {
      pull(controller) {
        const part = parts[at++];
        if (part !== undefined) controller.enqueue(part);
        else if (end === 'close') controller.close();
        else if (end !== 'open') controller.error(end.error);
        else return new Promise<void>(() => {});
        return undefined;
      },
    },
    { highWaterMark: 0 },
  );
}

export interface FakeModel extends LanguageModel {
  /** What it was called with. */
  readonly calls: CallOptions[];
}

/** A model of the interface v4 that streams what it is told. */
export function fakeModel(
  stream: (options: CallOptions) => ReadableStream<StreamPart> | PromiseLike<ReadableStream<StreamPart>>,
  headers?: { [name: string]: string },
): FakeModel {
  const calls: CallOptions[] = [];
  return {
    specificationVersion: 'v4',
    provider: 'fake.chat',
    modelId: 'f-1',
    calls,
    async doStream(options) {
      calls.push(options);
      return { stream: await stream(options), ...(headers !== undefined && { response: { headers } }) };
    },
  };
}

/** Usage of 10 tokens in and 5 out. */
export const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

export const STOP: StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: USAGE,
};

/** One block of text. */
export function textParts(...deltas: string[]): StreamPart[] {
  return [
    { type: 'text-start', id: 't' },
    ...deltas.map((delta): StreamPart => ({ type: 'text-delta', id: 't', delta })),
    { type: 'text-end', id: 't' },
  ];
}
