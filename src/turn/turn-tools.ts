import type { NewRecord, RecordData } from '../ledger/records.ts';
import type { TurnFacts } from '../ledger/turn-facts.ts';
import type { GateResult, GateSubjects } from '../lifecycle/hooks.ts';
import { type Activations, createActivations } from '../tools/activations.ts';
import type { Binding, BoundTool } from '../tools/binding.ts';
import type { Catalogue } from '../tools/catalogue.ts';
import type { DiscoveryScope } from '../tools/discovery-scope.ts';
import { discoveryTools } from '../tools/discovery-tools.ts';
import { narrowBinding } from '../tools/narrow-binding.ts';
import { replayActivations } from '../tools/replay-activations.ts';
import { createShapeGate, type ShapeGate } from '../tools/shape-gate.ts';
import {
  type Availability,
  availabilityOf,
  type CallRoute,
  exposeTools,
  type StepView,
} from '../tools/step-view.ts';
import { READ_ARTIFACT, readArtifact } from './read-artifact.ts';
import { createToolRoster, type ToolRoster } from './tool-roster.ts';
import type { TurnPlan, TurnSession } from './turn-scope.ts';

/** The tools of one turn: what may be called at all, what is visible now, and what becomes visible next. */
export interface TurnTools {
  readonly catalogue: Catalogue;
  /** The agent's tools that apply, and those of the runtime: every name a call of this turn may resolve to. */
  readonly binding: Binding;
  /** In every request: direct tools and the runtime's own, by name, then required ones. */
  readonly standing: readonly BoundTool[];
  /** Deferred tools that are active, in activation order; grows only between two steps. */
  readonly activated: ReadonlySet<string>;
  /** Names the model could call in the step under way: what searches are judged by. */
  readonly snapshot: ReadonlySet<string>;
  readonly activations: Activations;
  readonly shapeGate: ShapeGate;
  /** The view of a step that would start now. */
  view(): StepView;
  /**
   * Takes over what live sources offer now; only between two steps. What is withdrawn is active no more. Facts of what
   * changed, to be durable before the next step is.
   */
  refresh(): readonly NewRecord[];
  /** Whether a name that is not bound was, and its source took it back. */
  isWithdrawn(name: string): boolean;
  /** There is something to read back from now on. */
  showReader(): void;
  /** Freezes the view of the step that starts. */
  takeSnapshot(view: StepView): void;
  /** The view a step was opened with, and freezes it. */
  restoreSnapshot(opened: RecordData<'step.opened'>): StepView;
  /** How the tool that a call means stood when its step started. */
  availability(route: CallRoute): Availability;
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
  /** Tools of the runtime that are in every request. */
  readonly required: readonly BoundTool[];
}

export function createTurnTools(options: TurnToolsOptions): TurnTools {
  const { plan } = options;
  const parts = partsOf(options);
  const { roster, frozen, found, discovery } = parts;
  const { catalogue, activations, maxSignatureChars } = discovery;
  const { activated } = found;
  const { sessionId, ledger, conversation } = options.session;
  const reader = readArtifact({ sessionId, ledger, seqOf: (handle) => conversation.seqOf(handle) });
  let set = toolSet(parts);
  const showReader = () => {
    if (parts.required.includes(reader)) return;
    parts.required.push(reader);
    set = toolSet(parts);
  };
  const boundOf = (names: Iterable<string>) => [...names].flatMap((name) => set.binding.byName(name) ?? []);
  return {
    catalogue,
    get binding() {
      return set.binding;
    },
    get standing() {
      return set.standing;
    },
    activated,
    get snapshot() {
      return frozen.callable;
    },
    activations,
    shapeGate: createShapeGate(catalogue, maxSignatureChars),
    view: () =>
      exposeTools({ catalogue, standing: set.standing, active: boundOf(activated), maxSignatureChars }),
    refresh() {
      const { binding } = roster;
      const facts = roster.refresh();
      if (roster.binding !== binding) set = toolSet(parts);
      return facts;
    },
    isWithdrawn: (name) => roster.isWithdrawn(name),
    showReader,
    takeSnapshot: (view) => frozen.take(view),
    restoreSnapshot(opened) {
      if (opened.visible.includes(READ_ARTIFACT)) showReader();
      const visible = boundOf(opened.visible);
      frozen.take({ visible, wire: visible, active: new Set(opened.active) });
      return frozen.view;
    },
    availability: (route) => availabilityOf(route, frozen.view, catalogue, isLiveIn(plan)),
    mergeActivations: (callIds) => found.merge(callIds),
  };
}

interface Parts {
  readonly roster: ToolRoster;
  readonly frozen: FrozenView;
  readonly found: FoundNames;
  readonly discovery: DiscoveryScope;
  /** Tools that the turn needs whatever its agent has, by name; grows only between two steps. */
  readonly required: BoundTool[];
}

function partsOf(options: TurnToolsOptions): Parts {
  const { plan, turnId, session, context, gate } = options;
  const required = [...options.required];
  if (plan.output?.mode === 'submit') required.push(plan.output.contract.submit);
  const { sessionId, agentPath, clock } = session;
  const roster = createToolRoster(turnId, plan, { agent: plan.agent, agentPath, sessionId, context });
  const { catalogue } = roster;
  const isLive = isLiveIn(plan);
  const live = (name: string) =>
    catalogue.isDeferred(name) && isLive(name) ? roster.binding.byName(name) : undefined;
  const frozen = createFrozenView(catalogue);
  const found = createFoundNames([...replayed(catalogue, options.history), ...options.activated]);
  const activations = createActivations({
    turnId,
    sessionId,
    agentPath,
    catalogue,
    live,
    gate,
    noted: found.activated,
    onDurable: (callId, names) => found.note(callId, names),
  });
  const discovery: DiscoveryScope = {
    turnId,
    catalogue,
    clock,
    activations,
    maxSignatureChars: signatureBound(plan),
    live,
    callable: () => frozen.callable,
    placesLeft: () => placesLeft(plan, catalogue, frozen.callable),
  };
  return { roster, frozen, found, discovery, required };
}

function isLiveIn({ isLive = () => true }: TurnPlan): (name: string) => boolean {
  return isLive;
}

/** The view of the step under way. */
interface FrozenView {
  readonly view: StepView;
  /** Everything of it that has been shown with its parameters. */
  readonly callable: ReadonlySet<string>;
  take(view: StepView): void;
}

function createFrozenView(catalogue: Catalogue): FrozenView {
  let view: StepView = { visible: [], wire: [], active: new Set() };
  let callable: ReadonlySet<string> = new Set();
  return {
    get view() {
      return view;
    },
    get callable() {
      return callable;
    },
    take(taken) {
      view = taken;
      callable = callableNames(taken, catalogue);
    },
  };
}

/** What the turn has found, and what the calls of the step under way add to it. */
interface FoundNames {
  readonly activated: Set<string>;
  note(callId: string, names: readonly string[]): void;
  merge(callIds: readonly string[]): void;
}

function createFoundNames(before: readonly string[]): FoundNames {
  const activated = new Set(before);
  const pending = new Map<string, readonly string[]>();
  return {
    activated,
    note: (callId, names) => pending.set(callId, names),
    merge(callIds) {
      for (const callId of callIds) {
        for (const name of pending.get(callId) ?? []) activated.add(name);
        pending.delete(callId);
      }
    },
  };
}

type ToolSet = Pick<TurnTools, 'binding' | 'standing'>;

/** What may be called under the roster of now, with the runtime's own tools; what left it is active no more. */
function toolSet({ roster, discovery, required, found: { activated } }: Parts): ToolSet {
  const { catalogue } = roster;
  const own = discoveryTools(discovery);
  for (const name of activated) if (!catalogue.isDeferred(name)) activated.delete(name);
  return {
    binding: withRuntimeTools(roster.binding, catalogue, [...own, ...required]),
    standing: [...inOrder([...catalogue.direct, ...own]), ...inOrder(required)],
  };
}

function inOrder(tools: readonly BoundTool[]): readonly BoundTool[] {
  return [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function replayed(catalogue: Catalogue, history: readonly TurnFacts[]): readonly string[] {
  return catalogue.policy.retention === 'replay' ? replayActivations(history, catalogue) : [];
}

/** What a rejection may carry; a tool that is never in a request is shown whole. */
function signatureBound({ discovery, limits }: TurnPlan): number {
  return discovery.exposition === 'invoke' ? Number.POSITIVE_INFINITY : limits.tools.maxErrorChars;
}

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
  const byWireName = new Map(own.map((bound) => [bound.definition.name, bound]));
  return {
    tools: [...base.tools, ...own],
    hash: base.hash,
    byName: (name) => byName.get(name) ?? base.byName(name),
    byWireName: (wireName) => byWireName.get(wireName) ?? base.byWireName(wireName),
  };
}
