import { readdir, readFile } from 'node:fs/promises';

/** A file of the page as it is served. */
export interface PageFile {
  readonly type: string;
  readonly body: string;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  ts: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Where the page lies: beside this room, in the source and in what was built of it. */
const FOLDER = new URL('../page/', import.meta.url);
const IS_SOURCE = import.meta.url.endsWith('.ts');

/**
 * All files of the page by the path they are asked for. Only these are ever served, so no path of a request reaches
 * the disk. In the source the modules are TypeScript: their types are taken out here.
 */
export async function loadPageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const names = await readdir(FOLDER);
  // All at once: somebody waits for the page.
  const loaded = await Promise.all(names.map(loadFile));
  const files = new Map(loaded.flat());
  const document = files.get('/index.html');
  if (document !== undefined) files.set('/', document);
  return files;
}

/** A file by the paths it is asked for; none for what is no part of the page. */
async function loadFile(name: string): Promise<readonly (readonly [string, PageFile])[]> {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (type === undefined || name.endsWith('.d.ts') || name.startsWith('tsconfig')) return [];
  const text = await readFile(new URL(name, FOLDER), 'utf8');
  const body = name.endsWith('.ts') ? await withoutTypes(text) : text;
  const file = { type, body };
  // The document names what was built.
  const built = IS_SOURCE && name.endsWith('.ts') ? [`/${name.replace(/\.ts$/, '.js')}`] : [];
  return [`/${name}`, ...built].map((path) => [path, file] as const);
}

async function withoutTypes(source: string): Promise<string> {
  const { stripTypeScriptTypes } = await import('node:module');
  return stripTypeScriptTypes(source);
}
