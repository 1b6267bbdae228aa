import { expectTypeOf, it } from 'vitest';
import type { EventData } from '../../src/events/event-data.ts';
import type { EventOf, RunEvent } from '../../src/events/event-schemas.ts';
import type { Sink } from '../../src/events/sink.ts';
import type { JsonObject, ToolOutput } from '../../src/ledger/content.ts';

it('narrows the data of an event by its type', () => {
  const event = {} as RunEvent;
  if (event.type === 'turn.closed') {
    expectTypeOf(event.data.status).toEqualTypeOf<
      'completed' | 'failed' | 'cancelled' | 'interrupted' | 'yielded' | 'handed-off'
    >();
    expectTypeOf(event.kind).toEqualTypeOf<'turn'>();
    expectTypeOf(event.name).toEqualTypeOf<'closed'>();
  }
  if (event.type === 'tool.settled') expectTypeOf(event.data.output).toEqualTypeOf<ToolOutput | undefined>();
});

it('types content as absent or there, and digests by the same names', () => {
  type Called = EventData<'tool.called'>;
  expectTypeOf<Called['args']>().toEqualTypeOf<JsonObject | undefined>();
  expectTypeOf<keyof NonNullable<Called['digests']>>().toEqualTypeOf<'args' | 'complaint'>();
});

it('types the facts of events without content', () => {
  expectTypeOf<EventData<'turn.paused'>['reason']>().toEqualTypeOf<
    'approval' | 'indeterminate' | 'requested' | 'children'
  >();
  expectTypeOf<EventData<'turn.resumed'>['run']>().toEqualTypeOf<string>();
});

it('keeps live machine transitions out of the events of a run', () => {
  expectTypeOf<Extract<RunEvent['type'], 'machine.transitioned'>>().toBeNever();
  expectTypeOf<EventOf<'attempt.retry-scheduled'>['name']>().toEqualTypeOf<'retry-scheduled'>();
});

it('cannot be changed by a sink', () => {
  expectTypeOf<Parameters<Sink['publish']>[0]>().toEqualTypeOf<readonly RunEvent[]>();
  const event = {} as RunEvent;
  // @ts-expect-error events are read-only
  event.seq = 1;
});
