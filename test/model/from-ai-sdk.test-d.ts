import type { createAnthropic } from '@ai-sdk/anthropic';
import type { createOpenAI } from '@ai-sdk/openai';
import { expectTypeOf, it } from 'vitest';
import type { Model } from '../../src/model/adapter.ts';
import { fromAiSdk } from '../../src/model/from-ai-sdk.ts';
import type { openaiCompatible } from '../../src/model/open-ai-compatible.ts';

it('takes the models of provider packages and gives a model', () => {
  type Taken = Parameters<typeof fromAiSdk>[0];
  expectTypeOf<ReturnType<ReturnType<typeof createAnthropic>>>().toExtend<Taken>();
  expectTypeOf<ReturnType<ReturnType<typeof createOpenAI>['responses']>>().toExtend<Taken>();
  expectTypeOf(fromAiSdk).returns.toEqualTypeOf<Model>();
});

it('takes no name of a model', () => {
  expectTypeOf<string>().not.toExtend<Parameters<typeof fromAiSdk>[0]>();
  // @ts-expect-error a name resolves through a hosted gateway
  fromAiSdk('openai/gpt-x');
});

it('has no option for retries', () => {
  expectTypeOf<Parameters<typeof openaiCompatible>[0]>().not.toHaveProperty('maxRetries');
});
