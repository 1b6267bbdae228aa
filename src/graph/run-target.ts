import type { Agent, AnyAgent } from '../agent/define-agent.ts';
import type { RunInput } from '../agent/run-input.ts';
import type { RunOptions, RunSettings } from '../agent/start-run.ts';
import type { AnyGraph, Graph } from './define-graph.ts';
import type { AnySwarm, Swarm } from './define-swarm.ts';

// One signature with these instead of one for each kind of target: where nothing fits, the compiler tells of the last of
// several, whatever the target is.

/** What a runtime runs: an agent, a graph, a swarm, or the name of one in its registry. */
export type RunTarget = AnyAgent | AnyGraph | AnySwarm | string;

/** What a target is given. Of a name nothing is known before it is looked up. */
export type InputFor<Target> =
  Target extends Graph<infer Input, unknown, never> ? Input : Target extends string ? unknown : RunInput;

/** What a target yields. */
export type OutputFor<Target> = Target extends
  | Agent<infer Output, never>
  | Graph<never, infer Output, never>
  | Swarm<infer Output, never>
  ? Output
  : unknown;

/** What the tools of a target need. */
type ContextFor<Target> = Target extends
  | Agent<unknown, infer Context>
  | Graph<never, unknown, infer Context>
  | Swarm<unknown, infer Context>
  ? Context
  : unknown;

/** Options of a run of a target: required where its tools need a context. */
export type OptionsFor<Target> = Target extends string
  ? [options?: RunSettings]
  : unknown extends ContextFor<Target>
    ? [options?: RunOptions<ContextFor<Target>>]
    : [options: RunOptions<ContextFor<Target>>];
