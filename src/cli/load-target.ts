import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AnyAgent } from '../agent/define-agent.ts';
import type { AnyGraph } from '../graph/define-graph.ts';
import type { AnySwarm } from '../graph/define-swarm.ts';
import { EXIT, type ExitCode } from './exit-code.ts';

/** What a module may export to be run. */
export type Runnable = AnyAgent | AnySwarm | AnyGraph;

/** What a FILE gave. */
export type LoadedTarget =
  | {
      readonly type: 'target';
      readonly target: Runnable;
      /** All that the module exports, by name: what a run may resolve by name. */
      readonly agents: Readonly<Record<string, Runnable>>;
    }
  | { readonly type: 'refused'; readonly message: string; readonly exitCode: ExitCode };

/**
 * Loads a module and finds what to run in it: the export that is named, else the default export, else the only
 * one there is. TypeScript is run by Node as it is, without types.
 */
export async function loadTarget(
  file: string,
  options: { readonly cwd: string; readonly exportName?: string | undefined },
): Promise<LoadedTarget> {
  const path = resolve(options.cwd, file);
  if (!isFile(path)) return refuse(`there is no file ${path}`);
  const loaded = await importModule(path);
  if (loaded.type === 'failed') return refuse(`${file} cannot be loaded: ${loaded.message}`, EXIT.failed);
  const exported = await targetsIn(loaded.module);
  const found = pickTarget(file, exported, options.exportName);
  if (found.type === 'refused') return found;
  return { ...found, agents: Object.fromEntries(exported.map(([, agent]) => [agent.name, agent])) };
}

/** Loads a module and gives all that can be run in it, by name: for who is told by name what to run. */
export async function loadDefinitions(
  file: string,
  options: { readonly cwd: string },
): Promise<
  | { readonly type: 'definitions'; readonly agents: Readonly<Record<string, Runnable>> }
  | Extract<LoadedTarget, { type: 'refused' }>
> {
  const path = resolve(options.cwd, file);
  if (!isFile(path)) return refuse(`there is no file ${path}`);
  const loaded = await importModule(path);
  if (loaded.type === 'failed') return refuse(`${file} cannot be loaded: ${loaded.message}`, EXIT.failed);
  const exported = await targetsIn(loaded.module);
  if (exported.length === 0) return refuse(`${file} does not export ${TARGET}`);
  return { type: 'definitions', agents: Object.fromEntries(exported.map(([, one]) => [one.name, one])) };
}

/** A folder can be no module: the loader would tell that with its own stack. */
function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
}

/** The one place that says what can be run. */
async function targetsIn(
  module: Readonly<Record<string, unknown>>,
): Promise<readonly (readonly [string, Runnable])[]> {
  const { isAgent } = await import('../agent/define-agent.ts');
  const { isGraph } = await import('../graph/define-graph.ts');
  const { isSwarm } = await import('../graph/define-swarm.ts');
  return Object.entries(module).flatMap(([name, value]) =>
    isAgent(value) || isSwarm(value) || isGraph(value) ? [[name, value] as const] : [],
  );
}

/** What a target is called in messages. */
const TARGET = 'an agent made by defineAgent(), a swarm or a graph';

type Picked = Extract<LoadedTarget, { type: 'refused' }> | { type: 'target'; target: Runnable };

function pickTarget(
  file: string,
  exported: readonly (readonly [string, Runnable])[],
  exportName: string | undefined,
): Picked {
  const names = exported.map(([name]) => name);
  const has = names.length === 0 ? 'none' : names.join(', ');
  const found = new Map(exported);
  if (exportName !== undefined) {
    const named = found.get(exportName);
    if (named !== undefined) return { type: 'target', target: named };
    return refuse(`${file} exports no ${exportName} that is ${TARGET}; it exports: ${has}`);
  }
  const chosen = found.get('default');
  if (chosen !== undefined) return { type: 'target', target: chosen };
  const distinct = [...new Set(found.values())];
  const [only] = distinct;
  if (only === undefined) return refuse(`${file} does not export ${TARGET}`);
  if (distinct.length === 1) return { type: 'target', target: only };
  return refuse(`${file} exports several agents (${has}); name one with --export NAME`);
}

function refuse(
  message: string,
  exitCode: ExitCode = EXIT.usage,
): Extract<LoadedTarget, { type: 'refused' }> {
  return { type: 'refused', message, exitCode };
}

type Imported =
  | { readonly type: 'module'; readonly module: Readonly<Record<string, unknown>> }
  | { readonly type: 'failed'; readonly message: string };

async function importModule(path: string): Promise<Imported> {
  try {
    // A module namespace is an object whose keys are the names of its exports.
    const module = (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
    return { type: 'module', module };
  } catch (error) {
    return {
      type: 'failed',
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}
