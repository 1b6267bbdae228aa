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
  const files = new Map<string, PageFile>();
  for (const name of await readdir(FOLDER)) {
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
    if (type === undefined || name.endsWith('.d.ts') || name.startsWith('tsconfig')) continue;
    const text = await readFile(new URL(name, FOLDER), 'utf8');
    const body = name.endsWith('.ts') ? await withoutTypes(text) : text;
    files.set(`/${name}`, { type, body });
    // The document names what was built.
    if (IS_SOURCE && name.endsWith('.ts')) files.set(`/${name.replace(/\.ts$/, '.js')}`, { type, body });
  }
  const document = files.get('/index.html');
  if (document !== undefined) files.set('/', document);
  return files;
}

async function withoutTypes(source: string): Promise<string> {
  const { stripTypeScriptTypes } = await import('node:module');
  return stripTypeScriptTypes(source);
}
