import { createRequire } from 'node:module';
import { SwarmError } from '../errors.ts';
import type { Inspector } from '../lifecycle/inspector.ts';
import { STATELY_LIMITS } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { StatelyBridge } from './stately-bridge.ts';

const PACKAGE = '@statelyai/inspect';

/** Options of {@link stately}. */
export interface StatelyOptions {
  /** Address of the relay. Default `ws://localhost:8080`, where `createInspectorServer()` listens. */
  readonly url?: string;
  /** Messages that wait for the relay; over it the oldest are dropped and counted. Default 2000. */
  readonly maxQueued?: number;
}

const OPTIONS: OptionNames<StatelyOptions> = { url: true, maxQueued: true };

/** What became of the messages of a {@link StatelyInspector}. */
export interface StatelyStats {
  readonly isConnected: boolean;
  /** Connections made so far: one more than the times it was lost. */
  readonly connections: number;
  readonly queued: number;
  readonly sent: number;
  /** Left out because the relay was away or slow; the viewer is told of each gap. */
  readonly dropped: number;
  /** Snapshots left out as a newer one of the same instance followed. */
  readonly coalesced: number;
  /** Why nothing is sent any more, where what sends broke. The run goes on, unseen. */
  readonly failure?: string;
}

/** Shows the machines of one runtime in the Stately inspector. */
export interface StatelyInspector extends Inspector {
  stats(): StatelyStats;
  /** Resolves when nothing waits any more: `true` when all was sent, `false` when nobody listens. */
  flushed(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Shows a runtime in the Stately inspector, through a relay: `swarmwright inspect --stately FILE` starts one beside a
 * run, `createInspectorServer()` of `@statelyai/inspect/server` anywhere else. Needs the package `@statelyai/inspect`.
 *
 * It sends what the machines are, what happened to them and where they stand: ids, counters and kinds, never a prompt,
 * an argument or a result. Nothing waits for it: its queue is bounded, it connects again by itself, registers what is
 * live anew, and it keeps no process alive.
 *
 * @throws SwarmError 'inspector-missing' where the package is not installed, 'invalid-inspector' for a wrong option
 * @example
 * await using runtime = createRuntime({ inspect: stately() });
 */
export function stately(options: StatelyOptions = {}): StatelyInspector {
  assertInstalled();
  assertOptions('stately', options, OPTIONS, 'invalid-inspector');
  const { url = 'ws://localhost:8080', maxQueued = STATELY_LIMITS.maxQueued } = options;
  if (!Number.isInteger(maxQueued) || maxQueued < 1)
    throw new SwarmError('invalid-inspector', 'maxQueued is a whole number of at least 1');
  return new StatelyBridge(checkedUrl(url), maxQueued);
}

function checkedUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed?.protocol === 'ws:' || parsed?.protocol === 'wss:') return parsed.href;
  throw new SwarmError('invalid-inspector', `the url of a relay begins with ws:// or wss://, not ${url}`);
}

/** Tells early what would only be found when the first machine starts. */
function assertInstalled(): void {
  try {
    createRequire(import.meta.url).resolve(PACKAGE);
  } catch (error) {
    throw missing(error);
  }
}

function missing(cause: unknown): SwarmError {
  return new SwarmError('inspector-missing', `stately needs ${PACKAGE}: npm install ${PACKAGE}`, { cause });
}
