import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AnyAgent } from '../agent/define-agent.ts';
import type { AnyGraph } from '../graph/define-graph.ts';
import type { AnySwarm } from '../graph/define-swarm.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import type { StoredSession } from './stored-session.ts';

/** What a module may export to be run. */
export type Runnable = AnyAgent | AnySwarm | AnyGraph;

/** Why a FILE gives nothing that can be run. */
export interface Refused {
  readonly type: 'refused';
  readonly message: string;
  readonly exitCode: ExitCode;
}

/** What a FILE gave. */
export interface LoadedModule {
  readonly type: 'module';
  /** FILE as it was given. */
  readonly file: string;
  /** What can be run, by the name of its export. */
  readonly exported: ReadonlyMap<string, Runnable>;
  /** The same by its own name: what a run may resolve by name. */
  readonly agents: Readonly<Record<string, Runnable>>;
}

/** What is to be run of a FILE. */
export type LoadedTarget =
  | Refused
  | { readonly type: 'target'; readonly target: Runnable; readonly agents: LoadedModule['agents'] };

/**
 * Loads a module and finds what to run in it: the export that is named, else the default export, else the only
 * one there is.
 */
export async function loadTarget(
  file: string,
  options: { readonly cwd: string; readonly exportName?: string | undefined },
): Promise<LoadedTarget> {
  const loaded = await loadModule(file, options);
  if (loaded.type === 'refused') return loaded;
  const { agents } = loaded;
  const picked = pickTarget(loaded, options.exportName);
  return picked.type === 'refused' ? picked : { ...picked, agents };
}

/** Loads a module with all that can be run in it. TypeScript is run by Node as it is, without types. */
export async function loadModule(
  file: string,
  options: { readonly cwd: string },
): Promise<LoadedModule | Refused> {
  const path = resolve(options.cwd, file);
  if (!isFile(path)) return refuse(`there is no file ${path}`);
  const loaded = await importModule(path);
  if (loaded.type === 'failed') return refuse(`${file} cannot be loaded: ${loaded.message}`, EXIT.failed);
  const exported = await targetsIn(loaded.module);
  if (exported.length === 0) return refuse(`${file} does not export ${TARGET}`);
  const agents = Object.fromEntries(exported.map(([, one]) => [one.name, one]));
  return { type: 'module', file, exported: new Map(exported), agents };
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

type Picked = Refused | { readonly type: 'target'; readonly target: Runnable };

/** The export that is named, else the default export, else the only one there is. */
function pickTarget({ file, exported }: LoadedModule, exportName: string | undefined): Picked {
  const has = [...exported.keys()].join(', ');
  if (exportName !== undefined) {
    const named = exported.get(exportName);
    if (named !== undefined) return { type: 'target', target: named };
    return refuse(`${file} exports no ${exportName} that is ${TARGET}; it exports: ${has}`);
  }
  const distinct = new Set(exported.values());
  const [only] = distinct;
  const chosen = exported.get('default') ?? (distinct.size === 1 ? only : undefined);
  if (chosen !== undefined) return { type: 'target', target: chosen };
  return refuse(`${file} exports several agents (${has}); name one with --export NAME`);
}

/**
 * Finds whose a session is in a module: a session goes on with nothing else. Where several exports have that name, the
 * default export or the one that is named is meant.
 */
export function pickForSession(
  loaded: LoadedModule,
  exportName: string | undefined,
  session: StoredSession | undefined,
): Picked {
  if (session === undefined) return pickTarget(loaded, exportName);
  const { file, exported } = loaded;
  const { id, agent } = session;
  const fitting = new Map([...exported].filter(([, { name }]) => name === agent));
  if (exportName !== undefined) {
    const picked = pickTarget(loaded, exportName);
    if (picked.type === 'refused' || picked.target.name === agent) return picked;
    return refuse(
      `the session ${id} is one of ${agent}, and --export ${exportName} is ${picked.target.name}`,
    );
  }
  if (fitting.size > 0) return pickTarget({ ...loaded, exported: fitting }, undefined);
  const has = [...exported.keys()].join(', ');
  return refuse(
    `the session ${id} is one of ${agent}, and ${file} exports none of that name; it exports: ${has}`,
  );
}

function refuse(message: string, exitCode: ExitCode = EXIT.usage): Refused {
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
