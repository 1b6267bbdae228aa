import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

function versionIn(folder: string): string {
  const manifest = new URL(`${folder}/package.json`, import.meta.url);
  // A manifest of an installed package has a version.
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}

/** What was measured, on what: our version, the named peers' as installed, Node's and the processor. */
export function versionsOf(peers: readonly string[]): Readonly<Record<string, string>> {
  const installed = peers.map((peer) => [peer, versionIn(`node_modules/${peer}`)]);
  return {
    swarmwright: versionIn('..'),
    ...Object.fromEntries(installed),
    node: process.version,
    processor: `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}`,
  };
}
