import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { SwarmError } from '../errors.ts';
import { type ArtifactRef, artifactRefSchema } from './content.ts';

/** Bytes hashed in one go, about 3 ms; larger artifacts let other work in between. */
const SLICE_BYTES = 4 * 1024 * 1024;

/**
 * The reference of some bytes.
 * @throws SwarmError 'artifact-too-large' over `maxBytes`
 */
export async function artifactRefOf(
  bytes: Uint8Array,
  mediaType: string,
  maxBytes: number,
): Promise<ArtifactRef> {
  if (bytes.byteLength > maxBytes) {
    throw new SwarmError('artifact-too-large', `${bytes.byteLength} bytes, at most ${maxBytes}`);
  }
  return { sha256: await sha256Of(bytes), size: bytes.byteLength, mediaType };
}

/** @throws SwarmError 'artifact-missing' for what cannot be a reference: such a thing is never stored */
export function checkRef(ref: ArtifactRef): void {
  if (artifactRefSchema.safeParse(ref).success) return;
  throw new SwarmError('artifact-missing', `not a reference of an artifact: ${JSON.stringify(ref)}`);
}

/** @throws SwarmError 'artifact-corrupt' when the bytes are not those of the reference */
export async function checkContent(ref: ArtifactRef, bytes: Uint8Array): Promise<void> {
  if (bytes.byteLength === ref.size && (await sha256Of(bytes)) === ref.sha256) return;
  throw new SwarmError(
    'artifact-corrupt',
    `the artifact ${ref.sha256} has other contents than its hash says`,
  );
}

async function sha256Of(bytes: Uint8Array): Promise<string> {
  const digest = createHash('sha256');
  for (let start = 0; start < bytes.byteLength; start += SLICE_BYTES) {
    if (start > 0) await setImmediate();
    digest.update(bytes.subarray(start, start + SLICE_BYTES));
  }
  return digest.digest('hex');
}
