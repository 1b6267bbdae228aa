/** A machine, laid out before the package was made. Lengths are in pixels of an unscaled chart. */
export interface ChartLayout {
  readonly id: string;
  readonly description: string;
  readonly width: number;
  readonly height: number;
  readonly states: readonly ChartState[];
  readonly moves: readonly ChartMove[];
  /** Events that every state accepts which is not final. */
  readonly anywhere: readonly { readonly event: string; readonly to: string }[];
}

export interface ChartState {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly isInitial: boolean;
  readonly isFinal: boolean;
  readonly timers: readonly { readonly from: string; readonly sends: string }[];
  /** Events it accepts by itself. */
  readonly accepts: readonly string[];
  /** Its left upper corner. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** All transitions from one state to another; without points where a state stays what it is. */
export interface ChartMove {
  readonly from: string;
  readonly to: string;
  readonly events: readonly string[];
  /** It leaves the way that goes well: drawn when it was taken, or when somebody points at its state. */
  readonly isSide: boolean;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Middle of the base line of what is written at it. */
  readonly label: readonly [x: number, y: number];
}
