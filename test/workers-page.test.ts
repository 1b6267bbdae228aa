import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { reply, type ScriptedServer, scriptedServer } from 'swarmwright/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment, PROJECT } from './examples/run-example.ts';
import { findNatsServer, isNatsMissing } from './support/nats-server.ts';

const PAGE = readFileSync(join(PROJECT, 'docs/workers.md'), 'utf8');
const BLOCKS = [...PAGE.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text);

/** The block that holds a text, as it stands. */
function blockWith(text: string): string {
  return BLOCKS.find((block) => block.includes(text)) ?? `no block has ${text}`;
}

/** A row of the table, and every command between backticks of it. */
function commandsOfRow(beginning: string): readonly string[] {
  const row = PAGE.split('\n').find((line) => line.startsWith(`| ${beginning}`)) ?? '';
  return [...row.matchAll(/`(swarmwright [^`]+)`/g)].map(([, command = '']) => command);
}

const AGENTS = `
import { defineAgent, defineTool, openaiCompatible } from 'swarmwright';
import { z } from 'zod';
const remove = defineTool({
  name: 'remove',
  description: 'Removes a file.',
  inputSchema: z.object({ path: z.string() }),
  needsApproval: true,
  execute: ({ path }) => 'removed ' + path,
});
const model = openaiCompatible({ baseURL: process.env['TEST_MODEL_URL'] ?? '', model: 'scripted' });
export const lead = defineAgent({ name: 'lead', instructions: 'Lead.', model, tools: [remove] });
`;

interface Shell {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  output(): string;
}

describe.skipIf(isNatsMissing())('commands of docs/workers.md, as they stand', { timeout: 120_000 }, () => {
  let folder = '';
  let provider: ScriptedServer;
  let port = 0;
  const shells: ChildProcess[] = [];

  /** Types lines into a shell of its own, in the folder of the reader. */
  function type(lines: string): Shell {
    const bin = join(folder, '../bin');
    const child = spawn('bash', ['-c', lines.replaceAll(':4222', `:${port}`)], {
      cwd: folder,
      // To end what it leaves in the background with it.
      detached: true,
      env: {
        ...cleanEnvironment(),
        PATH: `${bin}:${process.env['PATH']}`,
        TEST_MODEL_URL: provider.baseURL,
      },
    });
    shells.push(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    }
    // Not `close`: what runs in the background keeps the pipes.
    return { child, output: () => said, ended: once(child, 'exit').then(([code]) => code) };
  }

  /** Types lines and waits for their end. */
  async function typed(lines: string): Promise<string> {
    const shell = type(lines);
    expect([await shell.ended, shell.output()]).toEqual([0, expect.any(String)]);
    return shell.output();
  }

  /** What a terminal of the reader has, before what is typed there. */
  const exports = () =>
    blockWith('nats init')
      .split('\n')
      .filter((line) => line.startsWith('export '))
      .join('\n');

  beforeAll(async () => {
    // Below the project, so that the agents find the package; a space, as folders have them.
    mkdirSync(join(PROJECT, '.cache'), { recursive: true });
    const place = mkdtempSync(join(PROJECT, '.cache/workers-page-'));
    folder = join(place, 'my swarm');
    for (const name of ['my swarm', 'bin', 'ports']) mkdirSync(join(place, name));
    copyFileSync(join(PROJECT, 'nats.conf'), join(folder, 'nats.conf'));
    writeFileSync(join(folder, 'agents.ts'), AGENTS);
    const flags = `--port -1 --http_port -1 --ports_file_dir '${join(place, 'ports')}'`;
    const main = join(PROJECT, 'src/cli/main.ts');
    const programs = {
      // The port of the page may be taken where this runs.
      'nats-server': `exec '${findNatsServer()}' "$@" ${flags}`,
      swarmwright: `exec '${process.execPath}' --conditions=swarmwright-source '${main}' "$@"`,
    };
    for (const [name, line] of Object.entries(programs)) {
      writeFileSync(join(place, 'bin', name), `#!/bin/sh\n${line}\n`);
      chmodSync(join(place, 'bin', name), 0o755);
    }
    provider = await scriptedServer({
      script: ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? reply().text('Done.')
          : reply().call('remove', { path: 'a.txt' }),
    });
  });

  afterAll(async () => {
    for (const { pid = 0 } of shells) {
      try {
        process.kill(-pid, 'SIGKILL');
      } catch {
        // Nothing of it is left.
      }
    }
    await provider.close();
    rmSync(join(folder, '..'), { recursive: true, force: true, maxRetries: 5 });
  });

  /** The session of a run that waits for a person. */
  async function askedSession(run: Shell): Promise<string> {
    const asked = /swarmwright approve (s-\w+)\.1/;
    await expect.poll(run.output, { timeout: 60_000 }).toMatch(asked);
    return asked.exec(run.output())?.[1] ?? '';
  }

  it('start the server, and keep its files in the folder', async () => {
    const server = type(blockWith('nats-server --config'));
    const ports = join(folder, '../ports');
    const read = () => {
      if (server.child.exitCode !== null) throw new Error(server.output());
      const [file] = readdirSync(ports);
      return file === undefined ? '' : readFileSync(join(ports, file), 'utf8');
    };
    await expect.poll(read, { timeout: 30_000 }).toContain('}');
    port = Number(new URL(JSON.parse(read()).nats[0]).port);
    expect(existsSync(join(folder, 'nats-data/jetstream'))).toBe(true);
  });

  it('NB-10 lead from a run that is given to what an operator asks and an approver decides', async () => {
    const run = type(blockWith('nats init'));
    const session = await askedSession(run);
    for (const command of commandsOfRow('see what there is').slice(0, 2)) {
      expect(await typed(`${exports()}\n${command.replace('SESSION', session)}`)).toContain(session);
    }

    const [users = '', ...lines] = blockWith('nats send').trim().split('\n');
    const said = (part: string, filled: Readonly<Record<string, string>> = {}) => {
      const line = lines.find((one) => one.includes(part)) ?? `no line has ${part}`;
      return typed(`${users}\n${line.replace(/SESSION|REQUEST|HASH/g, (word) => filled[word] ?? session)}`);
    };
    const { event } = JSON.parse(await said('events replay'));
    expect(event).toMatchObject({ type: 'approval.requested', session });
    expect(await said('send query')).toContain(event.data.argsHash);
    await said('send steer');
    await said('send approve', { REQUEST: event.data.request, HASH: event.data.argsHash });
    expect([await run.ended, run.output()]).toEqual([0, expect.stringContaining('Done.')]);
  });

  it('NB-09 decide from any terminal, and a worker goes on by itself', async () => {
    const line = blockWith('nats init').trim().split('\n').at(-1) ?? '';
    const run = type(`${exports()}\n${line}`);
    const session = await askedSession(run);
    const [list = '', approve = ''] = commandsOfRow('decide');
    const id = /approve (\S+)/.exec(await typed(`${exports()}\n${list}`))?.[1] ?? 'none';
    expect(id).toContain(session);
    await typed(`${exports()}\n${approve.replace('ID', id)}`);
    expect([await run.ended, run.output()]).toEqual([0, expect.stringContaining('Done.')]);
  });

  it('NB-10 look at publishers and dead letters as who may', async () => {
    const status = /`(swarmwright nats status [^`]+)`/.exec(PAGE)?.[1] ?? 'none';
    expect(await typed(status)).toMatch(/ connected /);
    const [user = '', list = ''] = blockWith('dead-letters').trim().split('\n');
    expect(await typed(`${user}\n${list}`)).toBe('no dead letter\n');
  });
});
