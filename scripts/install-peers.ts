import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// The projects we measure against are no dependency of ours: they come when a measurement is first asked for.
const bench = new URL('../bench/', import.meta.url);
const wanted = statSync(new URL('package-lock.json', bench));
const installed = statSync(new URL('node_modules/.package-lock.json', bench), { throwIfNoEntry: false });

if (installed === undefined || installed.mtimeMs < wanted.mtimeMs) {
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', args, { cwd: fileURLToPath(bench), stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
