import type { StreamPart } from '../../src/model/language-model.ts';

/** The end of a whole answer, as a provider package tells it. */
export const FINISH: StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
};
