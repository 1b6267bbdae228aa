import type { Runtime } from '../runtime.ts';
import type { Cli } from './cli.ts';
import type { ExitCode } from './exit-code.ts';
import { withRuntime } from './ledger-option.ts';
import { loadModule, pickForSession, type Runnable } from './load-target.ts';
import { type RunningOptions, tellRefusal } from './run-command.ts';
import { readStoredSession } from './stored-session.ts';
import { tellUnmadePool } from './unmade-pool.ts';

/** A session that is to go on, and with what. */
export interface StoredTarget {
  readonly runtime: Runtime;
  readonly target: Runnable;
}

/** Goes on from a stored session with what a file exports for it, or tells why that cannot be. */
export async function withStoredTarget(
  cli: Cli,
  file: string,
  options: RunningOptions & { readonly session: string },
  use: (stored: StoredTarget) => Promise<ExitCode>,
): Promise<ExitCode> {
  const loaded = await loadModule(file, { cwd: cli.cwd });
  if (loaded.type === 'refused') return tellRefusal(cli, loaded);
  const opening = { ...options, runsHere: true, agents: loaded.agents };
  return withRuntime(opening, async ({ runtime, ledger, client }) => {
    await tellUnmadePool(cli, client, options);
    const stored = await readStoredSession(ledger, options.session);
    const picked = pickForSession(loaded, options.export, stored);
    return picked.type === 'refused' ? tellRefusal(cli, picked) : use({ runtime, target: picked.target });
  });
}
