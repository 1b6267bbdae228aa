import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongFilesFirst } from './test/support/long-files-first.ts';

// Where to leave the counts of a run as JSON, for scripts that add them up.
const report = process.env['SWARMWRIGHT_TEST_REPORT'];

export default defineConfig({
  ssr: { resolve: { conditions: ['swarmwright-source', 'node', 'import', 'default'] } },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/provide-nats-server.ts'],
    // Tests start hundreds of processes, which spend most of their time on compiling the same source.
    env: { NODE_COMPILE_CACHE: resolve('.cache/compiled') },
    typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], checker: 'tsc' },
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
    // Two cores, and tests that wait for leases and processes for a part of their time.
    maxWorkers: 3,
    sequence: { sequencer: LongFilesFirst },
    // A bound on hanging, not on speed: shared machines are slow at times.
    testTimeout: 120_000,
    retry: process.env['CI'] === 'true' ? 1 : 0,
    hookTimeout: 120_000,
  },
});
