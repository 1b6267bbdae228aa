import type { Model, StepEvent, StepOptions, StepOutcome, StepRequest } from '../model/adapter.ts';
import { armFaults, type Fault, type FaultPoints } from './fault-points.ts';

/** A model with faults in front of it. */
export interface FaultyModel extends Model {
  readonly faults: FaultPoints;
}

/**
 * Puts faults around every request of a model: `model-request` before it is sent, `model-event` at each event,
 * `model-outcome` before the outcome is told. A fault that fails a request or an event throws into whoever
 * reads the step; that is no behaviour of a provider (for those, script a failure) but of a broken adapter.
 */
export function faultyModel(model: Model, plan: readonly Fault[] | FaultPoints): FaultyModel {
  const faults = armFaults(plan);
  return {
    ...model,
    faults,
    step(request: StepRequest, options: StepOptions) {
      const told = Promise.withResolvers<StepOutcome>();
      return { events: played(model, { request, options }, faults, told), outcome: told.promise };
    },
  };
}

async function* played(
  model: Model,
  { request, options }: { readonly request: StepRequest; readonly options: StepOptions },
  faults: FaultPoints,
  told: PromiseWithResolvers<StepOutcome>,
): AsyncGenerator<StepEvent, void> {
  // An adapter that breaks leaves nobody waiting for an outcome.
  told.promise.catch(() => undefined);
  try {
    const stream = await faults.around({ site: 'model-request' }, async () => model.step(request, options));
    try {
      for await (const event of stream.events) {
        yield await faults.around({ site: 'model-event' }, async () => event);
      }
    } finally {
      told.resolve(faults.around({ site: 'model-outcome' }, () => stream.outcome));
    }
  } catch (error) {
    told.reject(error);
    throw error;
  }
}
