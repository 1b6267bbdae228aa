import type { RecordData } from '../ledger/records.ts';
import type { CallFacts, TurnFacts } from '../ledger/turn-facts.ts';
import type { GateResult, GateSubjects } from '../lifecycle/hooks.ts';
import { type Activations, createActivations } from '../tools/activations.ts';
import type { Binding, BoundTool } from '../tools/binding.ts';
import { type Catalogue, createCatalogue } from '../tools/catalogue.ts';
import { discoveryTools } from '../tools/discovery-tools.ts';
import { narrowBinding } from '../tools/narrow-binding.ts';
import { replayActivations } from '../tools/replay-activations.ts';
import { createShapeGate, type ShapeGate } from '../tools/shape-gate.ts';
import { type Availability, availabilityOf, exposeTools, type StepView } from '../tools/step-view.ts';
import type { TurnPlan, TurnSession } from './turn-scope.ts';

/** The tools of one turn: what may be called at all, what is visible now, and what becomes visible next. */
export interface TurnTools {
  readonly catalogue: Catalogue;
  /** The agent's tools that apply, and those of the runtime: every name a call of this turn may resolve to. */
  readonly binding: Binding;
  /** In every request: direct tools and the runtime's own, by name. */
  readonly standing: readonly BoundTool[];
  /** Deferred tools that are active, in activation order; grows only between two steps. */
  readonly activated: ReadonlySet<string>;
  /** Names the model could call in the step under way: what searches are judged by. */
  readonly snapshot: ReadonlySet<string>;
  readonly activations: Activations;
  readonly shapeGate: ShapeGate;
  /** The view of a step that would start now. */
  view(): StepView;
  /** Freezes the view of the step that starts. */
  takeSnapshot(view: StepView): void;
  /** The view a step was opened with, and freezes it. */
  restoreSnapshot(opened: RecordData<'step.opened'>): StepView;
  /** How the tool that a call means stood when its step started. */
  availability(call: CallFacts): Availability;
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
  /** Earlier turns of the session. */
  readonly history: readonly TurnFacts[];
  /** Names activated before this process took the turn over. */
  readonly activated: readonly string[];
}

const NO_VIEW: StepView = { visible: [], wire: [], active: new Set() };

export function createTurnTools(options: TurnToolsOptions): TurnTools {
  const { plan, turnId } = options;
  const catalogue = catalogueOf(options);
  const isLive = plan.isLive ?? (() => true);
  const live = (name: string) =>
    catalogue.isDeferred(name) && isLive(name) ? plan.binding.byName(name) : undefined;
  const activated = new Set([...replayed(catalogue, options.history), ...options.activated]);
  const pending = new Map<string, readonly string[]>();
  const { sessionId, agentPath, clock } = options.session;
  const activations = createActivations({
    turnId,
    sessionId,
    agentPath,
    catalogue,
    live,
    gate: options.gate,
    noted: activated,
    onDurable: (callId, names) => pending.set(callId, names),
  });
  const maxSignatureChars = signatureBound(plan);
  let view = NO_VIEW;
  let snapshot: ReadonlySet<string> = new Set();
  const take = (taken: StepView) => {
    view = taken;
    snapshot = callableNames(taken, catalogue);
  };
  const own = discoveryTools({
    turnId,
    catalogue,
    clock,
    activations,
    maxSignatureChars,
    live,
    callable: () => snapshot,
    placesLeft: () => placesLeft(plan, catalogue, snapshot),
  });
  const binding = withRuntimeTools(plan.binding, catalogue, own);
  const standing = [...catalogue.direct, ...own].sort((a, b) => (a.name < b.name ? -1 : 1));
  const boundOf = (names: Iterable<string>) => [...names].flatMap((name) => binding.byName(name) ?? []);
  return {
    catalogue,
    binding,
    standing,
    activated,
    get snapshot() {
      return snapshot;
    },
    activations,
    shapeGate: createShapeGate(catalogue, maxSignatureChars),
    view: () => exposeTools({ catalogue, standing, active: boundOf(activated), maxSignatureChars }),
    takeSnapshot: take,
    restoreSnapshot(opened) {
      const visible = boundOf(opened.visible);
      take({ visible, wire: visible, active: new Set(opened.active) });
      return view;
    },
    availability: (call) => availabilityOf(call.called.data, view, catalogue, isLive),
    mergeActivations(callIds) {
      for (const callId of callIds) {
        for (const name of pending.get(callId) ?? []) activated.add(name);
        pending.delete(callId);
      }
    },
  };
}

function catalogueOf({ plan, session, context }: TurnToolsOptions): Catalogue {
  const { agentPath, sessionId } = session;
  return createCatalogue({
    binding: plan.binding,
    policy: plan.discovery,
    scope: { agent: plan.agent, agentPath, sessionId, context },
    contextWindow: plan.model.contextWindow,
  });
}

function replayed(catalogue: Catalogue, history: readonly TurnFacts[]): readonly string[] {
  return catalogue.policy.retention === 'replay' ? replayActivations(history, catalogue) : [];
}

/** What a rejection may carry; a tool that is never in a request is shown whole. */
function signatureBound({ discovery, limits }: TurnPlan): number {
  return discovery.exposition === 'invoke' ? Number.POSITIVE_INFINITY : limits.tools.maxErrorChars;
}

/** Everything of the view that has been shown with its parameters. */
function callableNames({ visible, active }: StepView, catalogue: Catalogue): ReadonlySet<string> {
  const shown = visible.map((bound) => bound.name).filter((name) => !catalogue.isDeferred(name));
  return new Set([...shown, ...active]);
}

/** Only where activation adds to the request is there a bound on it. */
function placesLeft({ limits }: TurnPlan, { policy }: Catalogue, callable: ReadonlySet<string>): number {
  const isBounded = policy.wire === 'absent' && policy.exposition === 'project';
  return isBounded ? Math.max(0, limits.visibleTools - callable.size) : Number.POSITIVE_INFINITY;
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
