import { allMachines } from '../../machines/index.ts';
import type { MachineKind } from '../../machines/machine-kind.ts';

/** One way a state answers an event, as the machine declares it. */
export interface DeclaredEdge {
  readonly from: string;
  readonly event: string;
  /** `from` again where the state stays. */
  readonly to: string;
  readonly guard?: string;
  readonly actions?: string;
}

interface Candidate {
  readonly target?: string;
  readonly guard?: string;
  readonly actions?: string;
}

type Transitions = Readonly<Record<string, Candidate | readonly Candidate[]>>;

interface StateConfig {
  readonly type?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly meta?: { readonly timers: readonly { readonly from: string; readonly sends: string }[] };
  readonly on?: Transitions;
}

/** The part of a configuration our machines use; that they use no other is a test of its own. */
export interface FlatConfig {
  readonly id: string;
  readonly initial: string;
  readonly on?: Transitions;
  readonly states: Readonly<Record<string, StateConfig>>;
}

export function configOf(kind: MachineKind): FlatConfig {
  // XState's own type of a configuration allows much more than a flat machine has.
  return allMachines[kind].config as unknown as FlatConfig;
}

export const isFinal = (config: FlatConfig, state: string): boolean => config.states[state]?.type === 'final';

/** Every declared edge; what the root accepts stands at each state that has no answer of its own. */
export function declaredEdges(kind: MachineKind): readonly DeclaredEdge[] {
  const config = configOf(kind);
  return Object.keys(config.states)
    .filter((state) => !isFinal(config, state))
    .flatMap((from) => {
      const answers = { ...config.on, ...config.states[from]?.on };
      return Object.entries(answers).flatMap(([event, candidates]) =>
        [candidates].flat().map(({ target, guard, actions }) => ({
          from,
          event,
          to: target?.replace(/^\./, '') ?? from,
          ...(guard !== undefined && { guard }),
          ...(actions !== undefined && { actions }),
        })),
      );
    });
}
