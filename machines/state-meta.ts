/**
 * What a chart and a user may rely on about a state, whatever its name: `busy` work of the runtime is under
 * way, `waiting` for a timer or somebody outside, `terminal` final, `sideEffectPossible` a tool may have acted
 * on the world.
 */
export type StateTag = 'busy' | 'waiting' | 'terminal' | 'sideEffectPossible';

/** A timer that runs while a state is active. The runtime owns it; machines only name it. */
export interface StateTimer {
  /** Path in the limits, or the event field, that gives its length. */
  readonly from: string;
  /** Event the runtime sends when it runs out. */
  readonly sends: string;
}

/** `meta` of a state. */
export interface StateMeta {
  readonly timers: readonly StateTimer[];
}
