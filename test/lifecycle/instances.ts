import type { InputOf, MachineKind } from '../../machines/machine-kind.ts';
import type {
  Lifecycle,
  LifecycleFault,
  LifecycleHost,
  LifecycleHostOptions,
} from '../../src/lifecycle/lifecycle.ts';
import { createLifecycleHost } from '../../src/lifecycle/lifecycle-host.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

/** A host that keeps what it tells. */
export interface Recording {
  readonly host: LifecycleHost;
  readonly records: TransitionRecord[];
  readonly faults: LifecycleFault[];
}

export function recordingHost(options: Partial<LifecycleHostOptions> = {}): Recording {
  const records: TransitionRecord[] = [];
  const faults: LifecycleFault[] = [];
  const host = createLifecycleHost({
    clock: fakeClock(),
    observe: (record) => records.push(record),
    onFault: (fault) => faults.push(fault),
    ...options,
  });
  return { host, records, faults };
}

const SESSION = { rootId: 's-1', session: 's-1' };

export const inputs = {
  agent: { agentId: 's-1', maxRestarts: 1 },
  turn: { turnId: 's-1.1', agentId: 's-1', maxSteps: 3 },
  step: {
    stepId: 's-1.1.1',
    index: 1,
    visibleCount: 2,
    maxAttempts: 3,
    maxIdleRetries: 1,
    maxTruncatedRetries: 1,
  },
  'tool-call': {
    callId: 's-1.1.1.0',
    stepId: 's-1.1.1',
    toolName: 'read',
    origin: 'model',
    recovery: 'never_auto_retry',
  },
  'graph-supervisor': { graphId: 's-1.1', turnId: 's-1.1' },
} as const satisfies { readonly [K in MachineKind]: InputOf<K> };

export function startTurn(host: LifecycleHost, id = 's-1.1', maxSteps = 3): Lifecycle<'turn'> {
  return host.start('turn', { ...SESSION, id, input: { turnId: id, agentId: 's-1', maxSteps } });
}

export function startStep(host: LifecycleHost, id = 's-1.1.1', parentId = 's-1.1'): Lifecycle<'step'> {
  return host.start('step', { ...SESSION, id, parentId, input: { ...inputs.step, stepId: id } });
}

export function startCall(host: LifecycleHost, id = 's-1.1.1.0', parentId = 's-1.1'): Lifecycle<'tool-call'> {
  return host.start('tool-call', { ...SESSION, id, parentId, input: { ...inputs['tool-call'], callId: id } });
}
