import type { MachineSet } from '../../machines/machine-kind.ts';
import type { Clock } from '../clock.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { InstanceSnapshot } from './registry.ts';
import type { TransitionRecord } from './transition-record.ts';

/** Something that shows running machines. Given to the runtime as an object; never waited for. */
export interface Inspector {
  /**
   * Called once, with a way to see what is live, as a viewer that connects late has to be told, and with the machines
   * that run: those of the runtime, or what a user made of them.
   */
  attach?(live: () => readonly InstanceSnapshot[], machines: MachineSet): void;
  /** Called once, after `attach`, with what else a viewer may see of the runtime, and ask of it. */
  watch?(runtime: InspectedRuntime): void;
  /** A transition happened. Must return at once; what it throws is counted and dropped. */
  observe(record: TransitionRecord): void;
  /** The runtime closes. */
  close?(): Promise<void> | void;
}

/** A request that waits for a person, as a viewer is told of it. */
export interface InspectedRequest {
  readonly id: string;
  readonly kind: 'permission' | 'question';
  readonly toolName: string;
  /** Absent where it is not known here. */
  readonly input?: JsonObject;
  /**
   * Why `input` may not be what is decided on, where that was not taken from the ledger: it was not published, parts of
   * it were masked, or it is different.
   */
  readonly doubt?: 'absent' | 'masked' | 'different';
  /** What the decision has to be for, where events told of the request: it goes back with the decision. */
  readonly argsHash?: string;
  readonly callId: string;
  readonly sessionId: string;
  readonly agentPath: readonly string[];
  readonly rememberable: boolean;
  /** Milliseconds since the epoch; absent = never. */
  readonly expiresAt?: number;
  readonly question?: string;
}

/** The inner side of a runtime that a viewer works with. Everything asked of it is checked as if a stranger asked. */
export interface InspectedRuntime {
  readonly ledger: Promise<Ledger>;
  readonly clock: Clock;
  /** Open requests, oldest first. */
  pending(): Promise<readonly InspectedRequest[]>;
  /** @throws SwarmError as `runtime.approvals.decide` */
  decide(id: string, decision: InspectedDecision): Promise<void>;
  /** @throws SwarmError as `runtime.sessions.steer` */
  steer(sessionId: string, text: string): Promise<void>;
  /** @throws SwarmError as `runtime.sessions.cancel` */
  cancel(sessionId: string, reason: string): Promise<void>;
  /** Runs on from a point of a session in a new one, whose id it gives. Absent where the runtime cannot. */
  fork?(sessionId: string, atSeq: number): Promise<string>;
}

/** A decision as a viewer hands it in. */
export interface InspectedDecision {
  readonly decision: 'approve' | 'deny';
  readonly scope?: 'call' | 'turn' | 'session';
  readonly reason?: string;
  readonly answer?: string;
  readonly actor?: string;
  /** That of the request as it was shown. */
  readonly argsHash?: string;
}
