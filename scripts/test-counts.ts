import { readFileSync } from 'node:fs';

// Prints the counts of a vitest JSON report as one plain line, and fails when a test failed or none ran.
const [path = '.cache/vitest.json'] = process.argv.slice(2);
const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(path, 'utf8')) as {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
};

console.log(`${numPassedTests} passed, ${numFailedTests} failed`);
if (numFailedTests > 0 || numPassedTests === 0) process.exitCode = 1;
