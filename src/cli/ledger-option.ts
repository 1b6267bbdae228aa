import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { RuntimeOptions } from '../agent/runtime-options.ts';
import { SwarmError } from '../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Inspector } from '../lifecycle/inspector.ts';
import type { NatsClient } from '../nats/client.ts';
import type { Runtime } from '../runtime.ts';
import { type BusOptions, busSinks } from './bus-option.ts';
import { ledgerPlace, readLedger, shownPlace } from './ledger-place.ts';
import type { Runnable } from './load-target.ts';
import { insecureOption, namespaceOption, withNats } from './nats-option.ts';
import { quoteWord } from './shell-words.ts';

const DEFAULT_PATH = './swarmwright.db';
const VARIABLE = 'SWARMWRIGHT_LEDGER';
const NAMESPACE = 'default';

/** Options of every command that looks into a ledger. */
export interface LedgerOptions {
  readonly ledger: string;
  /** Of a ledger on a server. */
  readonly ns?: string;
  readonly allowInsecure?: boolean;
}

/** `--ledger PLACE`, said the same way in every command. */
export function ledgerOption(): Option {
  return new Option('--ledger <place>', 'SQLite file or NATS server that holds the sessions')
    .env(VARIABLE)
    .argParser(readLedger)
    .default(DEFAULT_PATH);
}

/** Adds `--ledger`, and how to reach one on a server. */
export function addLedgerOptions(command: Command): Command {
  return command.addOption(ledgerOption()).addOption(namespaceOption()).addOption(insecureOption());
}

/**
 * ` --ledger PLACE` for a command that a person is to type next, empty where the default serves. A server is named by
 * the environment, or without who signs in there.
 */
export function ledgerHint({ ledger, ns = NAMESPACE, allowInsecure }: LedgerOptions): string {
  // The variable would name another one to the next command.
  if (ledger === DEFAULT_PATH && (process.env[VARIABLE] ?? ledger) === ledger) return '';
  if (ledgerPlace(ledger).type === 'file') return ` --ledger ${quoteWord(ledger)}`;
  const place = process.env[VARIABLE] === ledger ? '' : ` --ledger ${quoteWord(shownPlace(ledger))}`;
  const space = ns === NAMESPACE ? '' : ` --ns ${quoteWord(ns)}`;
  return `${place}${space}${allowInsecure === true ? ' --allow-insecure' : ''}`;
}

/** What is done with a runtime on the ledger of a command. */
export interface RuntimeUse {
  readonly runtime: Runtime;
  readonly ledger: Ledger;
  /** To the server that has the ledger, where one does. */
  readonly client?: NatsClient;
}

interface OpeningOptions extends LedgerOptions, BusOptions {
  /** A file that is not there is made. */
  readonly isNew?: boolean;
  readonly agents?: Readonly<Record<string, Runnable>>;
  readonly inspect?: Inspector | undefined;
  /** Runs are worked on in this process, unless they go to the workers of a `pool`. */
  readonly runsHere?: boolean;
  readonly pool?: string | undefined;
}

/**
 * Opens the ledger of a command, a runtime on it, and closes both.
 * @throws SwarmError 'ledger-unavailable' where `isNew` is not set and there is no file; 'invalid-definition' for a pool
 * without a server; 'nats-unavailable', 'nats-rejected', 'nats-insecure' of a server
 */
export async function withRuntime<T>(
  options: OpeningOptions,
  use: (parts: RuntimeUse) => Promise<T>,
): Promise<T> {
  const place = ledgerPlace(options.ledger);
  if (place.type === 'server') return withServer(place.servers, options, use);
  if (options.pool !== undefined) {
    throw new SwarmError(
      'invalid-definition',
      'workers need a ledger on their server: say --ledger nats://...',
    );
  }
  if (options.isNew !== true && !existsSync(place.path)) {
    throw new SwarmError(
      'ledger-unavailable',
      `there is no ledger at ${place.path}; --ledger or ${VARIABLE} names another file, or a server (nats://...)`,
    );
  }
  // Loaded when it is needed: help and completion answer at once.
  const { sqliteLedger } = await import('../ledger/sqlite-ledger.ts');
  return onLedger(await sqliteLedger({ path: place.path }), {}, options, use);
}

/** On a server, what is said of a turn that workers have reaches them through the queue of their pool. */
function withServer<T>(
  servers: string,
  options: OpeningOptions,
  use: (parts: RuntimeUse) => Promise<T>,
): Promise<T> {
  const { allowInsecure = false, ns = NAMESPACE, pool, runsHere = false } = options;
  return withNats({ nats: servers, allowInsecure }, 'worker', async (connection) => {
    const { jetstreamLedger } = await import('../nats/jet-stream-ledger.ts');
    const { natsPool } = await import('../nats/nats-pool.ts');
    const ledger = await jetstreamLedger({ connection, ns });
    const named = pool === undefined ? {} : { pool };
    const isPooled = pool !== undefined || !runsHere;
    const workers = isPooled ? { pool: natsPool({ connection, ns, ...named }) } : {};
    return onLedger(ledger, workers, options, (parts) => use({ ...parts, client: connection }));
  });
}

async function onLedger<T>(
  ledger: Ledger,
  workers: Pick<RuntimeOptions, 'pool'>,
  options: OpeningOptions,
  use: (parts: RuntimeUse) => Promise<T>,
): Promise<T> {
  const { createRuntime } = await import('../runtime.ts');
  const sinks = await busSinks(options);
  await using runtime = createRuntime({
    ledger,
    sinks,
    ...workers,
    ...(options.agents === undefined ? {} : { agents: options.agents }),
    ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
  });
  return await use({ runtime, ledger });
}
