#!/usr/bin/env node
import { readFileSync } from 'node:fs';

// Before anything is loaded that an older Node does not have.
const { engines, version } = readPackage();
if (isSuitable(process.versions.node)) {
  const { runProcess } = await import('./program.ts');
  await runProcess(version);
} else {
  process.stderr.write(`swarmwright needs Node ${engines.node}; this is ${process.versions.node}\n`);
  process.exitCode = 1;
}

/** The version of the package and what it asks of Node: two folders up in the source, three in what was built. */
function readPackage(): { readonly version: string; readonly engines: { readonly node: string } } {
  const above = import.meta.url.endsWith('.ts') ? '../../package.json' : '../../../package.json';
  // The file is part of the package and has both.
  return JSON.parse(readFileSync(new URL(above, import.meta.url), 'utf8')) as ReturnType<typeof readPackage>;
}

/** Node 22 from the release on whose SQLite keeps a ledger whole, and 24 likewise; see `engines`. */
function isSuitable(node: string): boolean {
  const [major = 0, minor = 0, patch = 0] = node.split('.').map(Number);
  if (major === 22) return minor > 23 || (minor === 23 && patch >= 3);
  return major > 24 || (major === 24 && minor >= 21);
}
