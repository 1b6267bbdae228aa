import type { Clock } from '../clock.ts';
import type { Activations } from './activations.ts';
import type { BoundTool } from './binding.ts';
import type { Catalogue } from './catalogue.ts';

/** What the runtime's own tools of one turn work with, and where their success goes. */
export interface DiscoveryScope {
  readonly turnId: string;
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly activations: Activations;
  /** Characters of one tool's schema that a result may carry. */
  readonly maxSignatureChars: number;
  /** Names the model could call when the step of the call started; under `invoke`, also through another tool. */
  callable(): ReadonlySet<string>;
  /** The tool as its source has it now; undefined where it is not deferred in this turn or was withdrawn. */
  live(name: string): BoundTool | undefined;
  /** Tools that may still become visible. */
  placesLeft(): number;
}
