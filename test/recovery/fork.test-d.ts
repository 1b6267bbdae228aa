import { expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { Run } from '../../src/agent/run.ts';
import { createRuntime } from '../../src/runtime.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const runtime = createRuntime();
const model = scriptedModel({ script: [] });

it('a fork yields what its agent does, and text where none is given', () => {
  const output = z.object({ verdict: z.string() });
  const judge = defineAgent({ name: 'judge', instructions: 'Judge.', model, output });
  expectTypeOf(runtime.fork('s', { atSeq: 1, agent: judge })).toEqualTypeOf<Run<{ verdict: string }>>();
  expectTypeOf(runtime.fork('s', { atSeq: 1 })).toEqualTypeOf<Run<string>>();
});

it('an edit is of the input or of a result', () => {
  runtime.fork('s', { atSeq: 1, edit: { input: 'a' } });
  runtime.fork('s', { atSeq: 1, edit: { result: 'a' } });
  // @ts-expect-error There is no such edit.
  runtime.fork('s', { atSeq: 1, edit: { output: 'a' } });
  // @ts-expect-error A fork has a point.
  runtime.fork('s', {});
});
