import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Packs the project as it would be published, installs it in a folder of its own, and uses it there as a
// stranger would: types under both kinds of module resolution, one example on the newest and the oldest Node.

const root = fileURLToPath(new URL('../', import.meta.url));
const EXAMPLE = 'examples/one-agent.ts';
const OLDEST_NODE = '22.23.3';

interface Manifest {
  readonly devDependencies: Readonly<Record<string, string>>;
}

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

function run(cwd: string, command: string, ...args: readonly string[]): string {
  const { status, stdout, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 300_000,
  });
  if (error !== undefined) throw error;
  if (status === 0) return stdout;
  throw new Error(`${[command, ...args].join(' ')} exited with ${status}\n${stdout}`);
}

function pack(into: string): Packed {
  // The build has just been made and looked at; what is packed is that one.
  const printed = run(root, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', into);
  const [packed] = JSON.parse(printed) as readonly Packed[];
  if (packed === undefined) throw new Error('npm pack made nothing');
  return packed;
}

/** Code, what describes it, and what the page on workers begins with. */
const ALLOWED = [
  /^(dist|src|machines|schemas|docs\/machines)\//,
  /^[A-Z]+(\.md)?$/,
  /^(package\.json|docs\/workers\.md|nats\.conf|docker-compose\.yml)$/,
];

/** What a package of ours must hold, and what must stay out of it. */
function checkContents(paths: readonly string[]): void {
  const needed = [
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
    'dist/src/index.js',
    'dist/src/index.d.ts',
    'dist/src/nats/index.js',
    'schemas/asyncapi.json',
    'docs/machines/turn.svg',
    'docs/workers.md',
    'nats.conf',
    'docker-compose.yml',
    'dist/src/page/index.html',
    'dist/src/page/app.js',
  ];
  const missing = needed.filter((path) => !paths.includes(path));
  const strange = paths.filter((path) => !ALLOWED.some((pattern) => pattern.test(path)));
  if (missing.length > 0) throw new Error(`the package lacks ${missing.join(', ')}`);
  if (strange.length > 0) throw new Error(`the package should not hold ${strange.join(', ')}`);
}

function install(consumer: string, tarball: string): void {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  const manifest = { name: 'consumer', private: true, type: 'module', allowScripts: { node: true } };
  writeFileSync(join(consumer, 'package.json'), JSON.stringify(manifest));
  const tools = ['typescript', '@types/node'].map((name) => `${name}@${devDependencies[name]}`);
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  run(consumer, 'npm', 'install', ...quiet, tarball, ...tools, `node@${OLDEST_NODE}`);
}

/**
 * Compiles the consumer with the declarations of every package looked into. What is wrong in a dependency of
 * ours is its own affair (some do not compile under `exactOptionalPropertyTypes`); ours have to be clean.
 */
function checkTypes(consumer: string): void {
  cpSync(join(root, 'scripts/consumer'), consumer, { recursive: true });
  const tsc = join(consumer, 'node_modules/.bin/tsc');
  for (const resolution of ['nodenext', 'bundler']) {
    const args = ['--project', `tsconfig.${resolution}.json`, '--pretty', 'false'];
    const { status, stdout } = spawnSync(tsc, args, { cwd: consumer, encoding: 'utf8' });
    const errors = stdout.split('\n').filter((line) => / error TS\d+: /.test(` ${line}`));
    if (status !== 0 && errors.length === 0) throw new Error(`tsc exited with ${status}\n${stdout}`);
    const ours = errors.filter((line) => !/^node_modules\/(?!swarmwright\/)/.test(line));
    if (ours.length > 0) throw new Error(`types under ${resolution}:\n${ours.join('\n')}`);
    console.log(`types hold under ${resolution} (${errors.length} errors inside of dependencies)`);
  }
}

function checkExample(consumer: string): void {
  cpSync(join(root, 'examples'), join(consumer, 'examples'), { recursive: true });
  // The oldest Node strips types, but cannot read `await using`: there a program of ours is compiled first.
  const lower = ['--target', 'es2022', '--module', 'nodenext', '--noCheck', '--outDir', 'examples'];
  run(consumer, join(consumer, 'node_modules/.bin/tsc'), EXAMPLE, ...lower);
  const runs = [
    [process.execPath, EXAMPLE],
    [join(consumer, 'node_modules/.bin/node'), EXAMPLE.replace(/\.ts$/, '.js')],
  ] as const;
  for (const [node, program] of runs) {
    const version = run(consumer, node, '--version').trim();
    run(consumer, node, program);
    console.log(`${program} runs from the package on Node ${version}`);
  }
}

/** The page is read from beside the code that serves it: all that its document names has to be there. */
function checkPage(consumer: string): void {
  const program = `
    import { createRuntime } from 'swarmwright';
    import { page } from 'swarmwright/inspect';
    const inspector = page();
    await using runtime = createRuntime({ inspect: inspector });
    const url = await inspector.url;
    const document = await (await fetch(url)).text();
    const named = [...document.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path);
    for (const path of [...named, '/charts.json']) {
      const { status } = await fetch(new URL(path, url));
      if (status !== 200) throw new Error(path + ' is served with ' + status);
    }`;
  writeFileSync(join(consumer, 'page.mjs'), program);
  run(consumer, process.execPath, 'page.mjs');
  console.log('the page is served from the package');
}

const folder = mkdtempSync(join(tmpdir(), 'swarmwright-package-'));
try {
  const packed = pack(folder);
  checkContents(packed.files.map(({ path }) => path));
  console.log(`${packed.filename}: ${packed.files.length} files, ${Math.round(packed.size / 1024)} KiB`);
  install(folder, join(folder, packed.filename));
  checkTypes(folder);
  checkExample(folder);
  checkPage(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
