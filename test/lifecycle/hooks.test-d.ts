import { describe, expectTypeOf, it } from 'vitest';
import type { EffectHookName, GateHookName, ObserverHookName } from '../../machines/hooks.ts';
import type { UserPart } from '../../src/ledger/content.ts';
import type { RecordOf } from '../../src/ledger/records.ts';
import type { GateSubjects, RequestMessage } from '../../src/lifecycle/gate-subjects.ts';
import type {
  EffectFact,
  EffectHooks,
  GateHooks,
  GateResult,
  GateRunner,
  Hooks,
} from '../../src/lifecycle/hooks.ts';
import type {
  AgentObservers,
  GraphObservers,
  StepObservers,
  ToolCallObservers,
  TurnObservers,
} from '../../src/lifecycle/observer-hooks.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import type { PromptMessage } from '../../src/model/adapter.ts';

describe('hooks', () => {
  it('are exactly those of the machines', () => {
    type Observers = TurnObservers & StepObservers & ToolCallObservers & AgentObservers & GraphObservers;
    expectTypeOf<keyof Observers>().toEqualTypeOf<ObserverHookName>();
    expectTypeOf<keyof GateHooks>().toEqualTypeOf<GateHookName>();
    expectTypeOf<keyof GateSubjects>().toEqualTypeOf<GateHookName>();
    expectTypeOf<keyof EffectHooks>().toEqualTypeOf<EffectHookName>();
    expectTypeOf<Exclude<keyof Hooks, 'name'>>().toEqualTypeOf<
      ObserverHookName | GateHookName | EffectHookName
    >();
  });

  it('give observers the record', () => {
    expectTypeOf<Parameters<NonNullable<Hooks['onToolStarted']>>>().toEqualTypeOf<[TransitionRecord]>();
  });

  it('give gates their own subject', () => {
    expectTypeOf<Parameters<NonNullable<Hooks['beforeTurn']>>[0]['input']>().toEqualTypeOf<
      readonly UserPart[]
    >();
    type Run = ReturnType<GateRunner['run']>;
    expectTypeOf<GateResult<GateSubjects['beforeToolCall']>>().toExtend<Awaited<Run>>();
  });

  it('give effects the record they are bound to', () => {
    expectTypeOf<EffectFact<'afterTurn'>['data']>().toEqualTypeOf<RecordOf<'turn.closed'>['data']>();
    expectTypeOf<EffectFact<'afterToolCall'>['data']>().toEqualTypeOf<RecordOf<'tool.settled'>['data']>();
  });

  it('show the messages of a request as the adapter takes them', () => {
    expectTypeOf<RequestMessage>().toExtend<PromptMessage>();
    expectTypeOf<PromptMessage>().toExtend<RequestMessage>();
  });
});
