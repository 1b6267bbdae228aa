import type { GateResult, GateSubjects } from '../lifecycle/hooks.ts';
import type { Binding, BoundTool } from '../tools/binding.ts';
import { type Catalogue, createCatalogue } from '../tools/catalogue.ts';
import { narrowBinding } from '../tools/narrow-binding.ts';
import { toolSearch } from '../tools/tool-search.ts';
import type { TurnPlan, TurnSession } from './turn-scope.ts';

/** The tools of one turn: what may be called at all, what is visible now, and what becomes visible next. */
export interface TurnTools {
  readonly catalogue: Catalogue;
  /** The agent's tools that apply, and those of the runtime: every name a call of this turn may resolve to. */
  readonly binding: Binding;
  /** In every request: direct tools and the runtime's own, by name. */
  readonly standing: readonly BoundTool[];
  /** Deferred tools found in this turn, in activation order; grows only between two steps. */
  readonly activated: ReadonlySet<string>;
  /** Names the model could call in the step under way: what searches and the gate are judged by. */
  readonly snapshot: ReadonlySet<string>;
  /** Freezes the view of the step that starts. */
  takeSnapshot(visible: readonly BoundTool[]): void;
  /** Merges what the calls of a step found, in call order, so that the order of settling cannot matter. */
  mergeActivations(callIds: readonly string[]): void;
}

export interface TurnToolsOptions {
  readonly turnId: string;
  readonly plan: TurnPlan;
  readonly session: TurnSession;
  readonly context: unknown;
  gate(
    subject: GateSubjects['beforeActivation'],
    signal: AbortSignal,
  ): Promise<GateResult<GateSubjects['beforeActivation']>>;
  /** Names activated before this process took the turn over. */
  readonly activated: readonly string[];
}

export function createTurnTools(options: TurnToolsOptions): TurnTools {
  const { plan, session, turnId } = options;
  const { agentPath, sessionId, clock } = session;
  const catalogue = createCatalogue({
    binding: plan.binding,
    policy: plan.discovery,
    scope: { agent: plan.agent, agentPath, sessionId, context: options.context },
    contextWindow: plan.model.contextWindow,
  });
  const activated = new Set(options.activated);
  const pending = new Map<string, readonly string[]>();
  let snapshot: ReadonlySet<string> = new Set();
  const own =
    catalogue.deferred.length === 0
      ? []
      : [
          toolSearch({
            turnId,
            catalogue,
            clock,
            visible: () => snapshot,
            gate: options.gate,
            activate: (callId, names) => pending.set(callId, names),
          }),
        ];
  return {
    catalogue,
    binding: withRuntimeTools(plan.binding, catalogue, own),
    standing: [...catalogue.direct, ...own].sort((a, b) => (a.name < b.name ? -1 : 1)),
    activated,
    get snapshot() {
      return snapshot;
    },
    takeSnapshot: (visible) => {
      snapshot = new Set(visible.map((bound) => bound.name));
    },
    mergeActivations(callIds) {
      for (const callId of callIds) {
        for (const name of pending.get(callId) ?? []) activated.add(name);
        pending.delete(callId);
      }
    },
  };
}

function withRuntimeTools(binding: Binding, catalogue: Catalogue, own: readonly BoundTool[]): Binding {
  const applicable = [...catalogue.direct, ...catalogue.deferred].map((bound) => bound.name);
  const base = narrowBinding(binding, applicable);
  if (own.length === 0) return base;
  const byName = new Map(own.map((bound) => [bound.name, bound]));
  return {
    tools: [...base.tools, ...own],
    hash: base.hash,
    byName: (name) => byName.get(name) ?? base.byName(name),
    byWireName: (wireName) => byName.get(wireName) ?? base.byWireName(wireName),
  };
}
