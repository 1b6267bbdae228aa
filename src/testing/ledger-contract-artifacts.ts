import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { DEFAULT_LIMITS } from '../limits.ts';
import { onLedger, overReopen } from './ledger-case.ts';
import type { LedgerCase } from './ledger-contract.ts';
import { expectError } from './ledger-samples.ts';

const BYTES = new TextEncoder().encode('bytes of an artifact');
const SHA256 = createHash('sha256').update(BYTES).digest('hex');

/** Bytes beside the records. */
export const artifactCases: readonly LedgerCase[] = [
  onLedger('an artifact is named by its hash and read back', async (ledger) => {
    const ref = await ledger.putArtifact(BYTES, 'text/plain');
    assert.deepEqual(ref, { sha256: SHA256, size: BYTES.length, mediaType: 'text/plain' });
    assert.deepEqual(await ledger.getArtifact(ref), BYTES);
  }),
  onLedger('an artifact may be empty', async (ledger) => {
    const ref = await ledger.putArtifact(new Uint8Array(), 'application/octet-stream');
    assert.equal(ref.size, 0);
    assert.deepEqual(await ledger.getArtifact(ref), new Uint8Array());
  }),
  onLedger('the same bytes twice are the same artifact', async (ledger) => {
    const [one, two] = await Promise.all([
      ledger.putArtifact(BYTES, 'text/plain'),
      ledger.putArtifact(BYTES, 'text/html'),
    ]);
    assert.equal(one.sha256, two.sha256);
    assert.deepEqual(await ledger.getArtifact({ ...two, mediaType: 'text/plain' }), BYTES);
  }),
  onLedger('an artifact changes with no buffer outside', async (ledger) => {
    const own = Uint8Array.from(BYTES);
    const ref = await ledger.putArtifact(own, 'text/plain');
    own.fill(0);
    const read = await ledger.getArtifact(ref);
    read.fill(1);
    assert.deepEqual(await ledger.getArtifact(ref), BYTES);
  }),
  onLedger('an artifact of several megabytes is kept', async (ledger) => {
    const bytes = Uint8Array.from({ length: 5_000_000 }, (_, index) => index % 251);
    const ref = await ledger.putArtifact(bytes, 'application/octet-stream');
    assert.equal(ref.sha256, createHash('sha256').update(bytes).digest('hex'));
    assert.ok(Buffer.from(bytes).equals(await ledger.getArtifact(ref)));
  }),
  onLedger('an artifact that is not stored is missing', async (ledger) => {
    const ref = { sha256: SHA256, size: BYTES.length, mediaType: 'text/plain' };
    await expectError(ledger.getArtifact(ref), 'artifact-missing');
  }),
  ...['../../../etc/passwd', '', 'A'.repeat(64), `${'a'.repeat(63)}/`, `..${'/'.repeat(62)}`].map((sha256) =>
    onLedger(`${JSON.stringify(sha256.slice(0, 12))} names no artifact`, async (ledger) => {
      await expectError(ledger.getArtifact({ sha256, size: 1, mediaType: 'x' }), 'artifact-missing');
    }),
  ),
  onLedger('an artifact of another size than its reference is corrupt', async (ledger) => {
    const ref = await ledger.putArtifact(BYTES, 'text/plain');
    await expectError(ledger.getArtifact({ ...ref, size: ref.size + 1 }), 'artifact-corrupt');
  }),
  onLedger('an artifact over the bound is refused', async (ledger) => {
    const bytes = new Uint8Array(DEFAULT_LIMITS.ledger.maxArtifactBytes + 1);
    await expectError(ledger.putArtifact(bytes, 'application/octet-stream'), 'artifact-too-large');
  }),
  overReopen(
    'an artifact is there after a restart',
    async ({ ledger }) => {
      await ledger.putArtifact(BYTES, 'text/plain');
    },
    async (ledger) => {
      const ref = { sha256: SHA256, size: BYTES.length, mediaType: 'text/plain' };
      assert.deepEqual(await ledger.getArtifact(ref), BYTES);
    },
  ),
];
