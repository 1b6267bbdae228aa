import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { findNatsServer } from './nats-server.ts';

const SCRIPT = resolve('scripts', 'nats-server.sh');

/**
 * Before all tests: fetches the servers that are not there yet. A machine that can have none runs the tests
 * without them and is told so; where `CI` is set it fails.
 */
export function setup(): void {
  fetchServer('current', []);
  fetchServer('distribution', ['--distribution']);
}

function fetchServer(version: 'current' | 'distribution', args: readonly string[]): void {
  if (findNatsServer(version) !== undefined) return;
  const { status, stderr } = spawnSync(SCRIPT, args, {
    encoding: 'utf8',
    timeout: 240_000,
  });
  if (status === 0) return;
  const words = `nats-server (${version}) could not be fetched: ${stderr.trim()}`;
  if (process.env['CI'] === 'true') throw new Error(words);
  console.warn(`\n*** ${words}\n*** Tests that need it are skipped. ***\n`);
}
