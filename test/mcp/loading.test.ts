import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** Packages that are loaded once `specifier` is. */
function loadedBy(specifier: string): readonly string[] {
  const script = `
    const { registerHooks } = await import('node:module');
    const seen = new Set();
    registerHooks({ load(url, context, next) { seen.add(url); return next(url, context); } });
    await import(${JSON.stringify(specifier)});
    console.log(JSON.stringify([...seen]));`;
  const args = ['--conditions=swarmwright-source', '--input-type=module', '-e', script];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  const urls: readonly string[] = JSON.parse(stdout);
  return urls.filter((url) => url.includes('@modelcontextprotocol'));
}

describe('the client library', () => {
  it.each(['swarmwright', 'swarmwright/mcp'])('is not loaded by the import of %s', (specifier) => {
    expect(loadedBy(specifier)).toEqual([]);
  });

  it('is seen here when it is loaded', () => {
    expect(loadedBy('@modelcontextprotocol/client')).not.toEqual([]);
  });
});
