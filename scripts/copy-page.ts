import { copyFileSync, readdirSync } from 'node:fs';

// What of the page is no module goes beside the modules that were built of it.
const from = new URL('../src/page/', import.meta.url);
const to = new URL('../dist/src/page/', import.meta.url);
for (const name of readdirSync(from)) {
  if (/\.(css|html|svg)$/.test(name) || name === 'charts.json')
    copyFileSync(new URL(name, from), new URL(name, to));
}
