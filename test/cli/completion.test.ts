import { execFile, execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { COMMAND, fixture, openWorkplace, SLOW, sessionIn, type Workplace } from './cli-process.ts';

const execute = promisify(execFile);

async function candidates(place: Workplace, ...words: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await place.run(['__complete', '--', ...words]);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t')[0] ?? '');
}

function has(shell: string): boolean {
  try {
    execFileSync(shell, ['--version']);
    return true;
  } catch {
    return false;
  }
}

describe('completion', SLOW, () => {
  it('offers commands, options and choices', async () => {
    await using place = await openWorkplace([]);
    expect(await candidates(place, 're')).toEqual(['resume', 'recover']);
    expect(await candidates(place, 'sessions', '')).toEqual(['ls', 'show', 'help']);
    expect(await candidates(place, 'run', 'a.ts', '--on')).toEqual(['--on-approval']);
    expect(await candidates(place, 'run', 'a.ts', '--on-approval', '')).toEqual(['wait', 'pause']);
    expect(await candidates(place, 'completion', 'f')).toEqual(['fish']);
  });

  it('offers files where a file is wanted', async () => {
    await using place = await openWorkplace([]);
    expect(await candidates(place, 'run', '')).toEqual([':files']);
    expect(await candidates(place, 'run', 'a.ts', '--ledger', '')).toEqual([':files']);
  });

  it('offers sessions and open requests of the ledger', async () => {
    await using place = await openWorkplace([reply().call('remove', { path: 'a' })]);
    const paused = await place.run(['run', fixture('worker'), '--input', 'x', '--on-approval', 'pause']);
    const session = sessionIn(paused.stdout);
    expect(await candidates(place, 'resume', 'a.ts', 's-')).toEqual([session]);
    expect(await candidates(place, 'approve', '')).toEqual([`${session}.1.1.0.ask`]);
    expect(await candidates(place, 'sessions', 'show', '')).toEqual([session]);
  });

  it.each(['zsh', 'fish'])('gives %s a script', async (shell) => {
    await using place = await openWorkplace([]);
    const { code, stdout } = await place.run(['completion', shell]);
    expect(code).toBe(0);
    expect(stdout).toContain('swarmwright __complete --');
    if (!has(shell)) return;
    await writeFile(join(place.folder, 'script'), stdout);
    await execute(shell, ['-n', join(place.folder, 'script')]);
  });

  it('works in bash', async () => {
    await using place = await openWorkplace([reply().call('remove', { path: 'a' })]);
    const paused = await place.run(['run', fixture('worker'), '--input', 'x', '--on-approval', 'pause']);
    const complete = async (line: string) => {
      const words = line.split(' ');
      const script = `
        swarmwright() { ${COMMAND.map((word) => `'${word}'`).join(' ')} "$@"; }
        source <(swarmwright completion bash)
        COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
        _swarmwright; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout } = await execute('bash', ['-c', script], { cwd: place.folder, env: place.env });
      return stdout.trimEnd().split('\n');
    };
    await writeFile(join(place.folder, 'agent one.ts'), '');
    expect(await complete('swarmwright app')).toEqual(['approve', 'approvals']);
    expect(await complete('swarmwright run ag')).toEqual(['agent one.ts']);
    expect(await complete('swarmwright deny ')).toEqual([`${sessionIn(paused.stdout)}.1.1.0.ask`]);
  });
});
