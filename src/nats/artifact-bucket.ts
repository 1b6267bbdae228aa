import { createHash } from 'node:crypto';
import { type ObjectStore, Objm } from '@nats-io/obj';
import { SwarmError } from '../errors.ts';
import type { NatsClient } from './client.ts';
import type { ReferenceStore, StoredReference } from './event-message.ts';
import { natsError } from './nats-error.ts';
import { ARTIFACT_BUCKET } from './streams.ts';

/** What events refer to, by the hash of its contents: the same bytes are there once. */
export interface ArtifactBucket extends ReferenceStore {
  /** Whether it is there already. @throws SwarmError 'nats-unavailable', 'nats-rejected' */
  has(sha256: string): Promise<boolean>;
  /**
   * The bytes, checked against their hash.
   * @throws SwarmError 'artifact-missing', 'artifact-corrupt', 'nats-unavailable', 'nats-rejected'
   */
  get(sha256: string): Promise<Uint8Array>;
}

/** Makes an {@link ArtifactBucket} on the bucket that `provision` makes. */
export function createArtifactBucket(client: NatsClient): ArtifactBucket {
  const open = async (): Promise<ObjectStore> => new Objm(client.live()).open(ARTIFACT_BUCKET);
  const guarded = async <T>(doing: string, work: (bucket: ObjectStore) => Promise<T>): Promise<T> => {
    try {
      return await work(await open());
    } catch (error) {
      throw natsError(error, doing);
    }
  };
  return {
    has: (sha256) =>
      guarded('looking for an artifact', async (bucket) => (await bucket.info(sha256)) !== null),
    put: (bytes, type) =>
      guarded('storing an artifact', async (bucket) => {
        const ref = referenceOf(bytes, type);
        const known = await bucket.info(ref.key);
        if (known === null || known.size !== bytes.length) {
          await bucket.putBlob({ name: ref.key, metadata: { type } }, bytes);
        }
        return ref;
      }),
    get: (sha256) =>
      guarded('reading an artifact', async (bucket) => {
        const bytes = await bucket.getBlob(sha256);
        if (bytes === null) throw new SwarmError('artifact-missing', `no artifact ${sha256} is on the bus`);
        if (hashOf(bytes) !== sha256) {
          throw new SwarmError('artifact-corrupt', `the artifact ${sha256} has other contents`);
        }
        return bytes;
      }),
  };
}

function referenceOf(bytes: Uint8Array, type: string): StoredReference {
  const sha256 = hashOf(bytes);
  return { store: ARTIFACT_BUCKET, key: sha256, size: bytes.length, sha256, type };
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
