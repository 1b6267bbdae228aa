import type { Sink } from '../events/sink.ts';
import type { Runtime } from '../runtime.ts';
import type { Cli } from './cli.ts';

/** Options of a command whose run may publish events. */
export interface BusOptions {
  readonly nats?: string;
  readonly ns?: string;
  readonly allowInsecure?: boolean;
}

/**
 * The sink that `--nats` asks for.
 * @throws SwarmError 'invalid-definition', 'nats-insecure'
 */
export async function busSinks({ nats, ns, allowInsecure }: BusOptions): Promise<readonly Sink[]> {
  if (nats === undefined) return [];
  const { natsSink } = await import('../nats/nats-sink.ts');
  const connection = { servers: nats, allowInsecure: allowInsecure === true };
  return [natsSink({ connection, ...(ns === undefined ? {} : { ns }) })];
}

/** Tells of a bus that is not well: what it did not take is in the ledger, and goes with the next run. */
export async function tellBus(cli: Cli, runtime: Runtime): Promise<void> {
  for (const { sink, lag } of runtime.sinkStats()) {
    if (sink === undefined || sink.type === 'connected' || sink.type === 'disabled') continue;
    const why = sink.message === undefined ? '' : `: ${sink.message}`;
    const waiting = lag === 0 ? '' : `; ${lag} records wait in the ledger and go with the next run`;
    await cli.err.say(`the bus is ${sink.type}${why}${waiting}`);
  }
}
