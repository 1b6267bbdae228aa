import type { AnyAgent } from '../agent/define-agent.ts';
import type { Lineage } from '../agent/lineage.ts';
import type { DecideIndeterminate } from '../agent/run-turn-job.ts';
import type { OpenSession, SessionJob } from '../agent/session-parts.ts';
import { type LastOutcome, refusedOutcome } from '../agent/turn-outcome.ts';
import type { TurnOwner } from '../agent/turn-owner.ts';
import type { UserPart } from '../ledger/content.ts';
import type { SessionIdentity } from '../ledger/records.ts';
import type { DiscoveryOptions } from '../tools/discovery-policy.ts';
import type { AnyToolSource } from '../tools/tool-source.ts';
import type { StopCause } from '../turn/stop-signal.ts';
import type { AnySwarm } from './define-swarm.ts';
import { SwarmRun } from './swarm-run.ts';

/** Whom a swarm is run for: it is at work between turns as well. */
export interface SwarmOwner extends TurnOwner {
  /** Why the run ends, where the stop came while no turn of it was open. */
  readonly stopCause: StopCause | undefined;
  /** Aborts when nothing new is to begin any more. */
  readonly afterStep?: AbortSignal;
}

/** A run of a swarm, for the session of its supervisor. */
export interface SwarmRequest {
  readonly swarm: AnySwarm;
  readonly identity: SessionIdentity;
  readonly run: SwarmOwner;
  /** Where the swarm stands below another session. Absent at the root. */
  readonly lineage?: Lineage;
  /** Hard ceiling of the run, by tool name. */
  readonly boundTools: readonly string[] | undefined;
  /** Tools the run brings along, for its supervisor alone. */
  readonly clientSources: readonly AnyToolSource[];
  readonly discovery: DiscoveryOptions | undefined;
  readonly decide: DecideIndeterminate;
}

/** The job that gives a swarm an input, and has its session until all of it has settled. */
export function swarmJob(request: SwarmRequest, input: readonly UserPart[]): SessionJob {
  return jobOf(request, 'message', (run) => run.begin(input));
}

/** The job that takes up the run of a swarm where its facts left it, in a turn or between two. */
export function resumeSwarmJob(request: SwarmRequest): SessionJob {
  return jobOf(request, 'resume', (run) => run.resume());
}

function jobOf(
  request: SwarmRequest,
  wakes: 'message' | 'resume',
  drive: (run: SwarmRun) => Promise<LastOutcome>,
): SessionJob {
  const { run: owner, swarm } = request;
  return {
    identity: request.identity,
    hooks: hooksOf(swarm.supervisor),
    wakes,
    async run(session: OpenSession) {
      if (!owner.begin()) return;
      const outcome = await SwarmRun.open(session, request).then(drive);
      // Whoever is told of a pause may resume at once, from any process.
      if (outcome.type === 'paused') session.whenFree(() => owner.ended(outcome));
      else owner.ended(outcome);
    },
    refuse: (failure) => owner.ended(refusedOutcome(failure)),
  };
}

function hooksOf({ hooks }: AnyAgent): SessionJob['hooks'] {
  return hooks === undefined ? [] : [hooks];
}
