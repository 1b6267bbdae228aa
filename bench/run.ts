import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';

/** What a measurement gives: rows to show, figures to keep, and the gates it did not meet, in words. */
interface Measurement {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly json: unknown;
  readonly failed: readonly string[];
}

const here = new URL('.', import.meta.url);

function isMeasuring(module: unknown): module is { run(): Promise<Measurement> } {
  return typeof module === 'object' && module !== null && 'run' in module && typeof module.run === 'function';
}

function knownNames(): readonly string[] {
  const files = readdirSync(here).filter((file) => file.endsWith('.ts') && file !== 'run.ts');
  return files.map((file) => file.slice(0, -'.ts'.length));
}

/** Runs one measurement, shows its table, writes `results/NAME.json`; true if every gate was met. */
async function measure(name: string): Promise<boolean> {
  const module: unknown = knownNames().includes(name) ? await import(`./${name}.ts`) : undefined;
  if (!isMeasuring(module)) {
    console.error(`No measurement is called ${name}. There are these files: ${knownNames().join(', ')}`);
    return false;
  }
  const { rows, json, failed } = await module.run();
  console.log(`\n${name}`);
  console.table(rows);
  mkdirSync(new URL('results/', here), { recursive: true });
  writeFileSync(new URL(`results/${name}.json`, here), `${JSON.stringify(json, null, 2)}\n`);
  for (const gate of failed) console.log(`not met: ${gate}`);
  if (failed.length === 0) console.log('all gates met');
  return failed.length === 0;
}

const names = process.argv.slice(2);
if (names.length === 0) {
  console.error('usage: npm run bench -- NAME...');
  process.exitCode = 1;
}
for (const name of names) {
  if (!(await measure(name))) process.exitCode = 1;
}
