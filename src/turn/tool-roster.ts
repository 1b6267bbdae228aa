import type { NewRecord } from '../ledger/records.ts';
import type { Binding } from '../tools/binding.ts';
import { type Catalogue, createCatalogue } from '../tools/catalogue.ts';
import type { LiveState } from '../tools/live-binding.ts';
import type { ToolScope } from '../tools/tool.ts';
import { replayName } from '../tools/tool-names.ts';
import type { TurnPlan } from './turn-scope.ts';

/** What a turn may use by now: its binding and catalogue, which live sources change between two steps. */
export interface ToolRoster {
  readonly binding: Binding;
  /** Always the present one: what is built over it sees what comes and goes. */
  readonly catalogue: Catalogue;
  /** Takes over what live sources offer now. Facts of what changed; none where nothing did. */
  refresh(): readonly NewRecord[];
  /** Whether a name that is not bound was, and its source took it back. */
  isWithdrawn(name: string): boolean;
}

export function createToolRoster(turnId: string, plan: TurnPlan, scope: ToolScope): ToolRoster {
  let { binding } = plan;
  let catalogue = catalogueOf(plan, scope, { binding });
  let withdrawn = namesOf(plan.live?.state);
  let toldRevision = 0;

  /** Each state is told once, also the one the turn began with. */
  function tell(state: LiveState): readonly NewRecord[] {
    if (state.revision === toldRevision) return [];
    toldRevision = state.revision;
    return state.changes.map((data) => ({ type: 'tools.changed', turn: turnId, data }));
  }

  return {
    get binding() {
      return binding;
    },
    catalogue: {
      policy: plan.discovery,
      get direct() {
        return catalogue.direct;
      },
      get deferred() {
        return catalogue.deferred;
      },
      get known() {
        return catalogue.known;
      },
      get inventory() {
        return catalogue.inventory;
      },
      has: (name) => catalogue.has(name),
      isDeferred: (name) => catalogue.isDeferred(name),
      index: () => catalogue.index(),
    },
    refresh() {
      const { live } = plan;
      if (live === undefined) return [];
      const facts = [...tell(live.state), ...tell(live.refresh())];
      if (live.state.binding !== binding) {
        binding = live.state.binding;
        catalogue = catalogueOf(plan, scope, { binding, before: catalogue });
      }
      withdrawn = namesOf(live.state);
      return facts;
    },
    isWithdrawn: (name) => withdrawn.has(name),
  };
}

interface Revision {
  readonly binding: Binding;
  readonly before?: Catalogue;
}

function catalogueOf(plan: TurnPlan, scope: ToolScope, revision: Revision): Catalogue {
  const { discovery: policy, model } = plan;
  return createCatalogue({ policy, scope, contextWindow: model.contextWindow, ...revision });
}

/** As they are called: by name or by what stood for it in a request. */
function namesOf(state: LiveState | undefined): ReadonlySet<string> {
  return new Set([...(state?.withdrawn ?? [])].flatMap((name) => [name, replayName(name)]));
}
