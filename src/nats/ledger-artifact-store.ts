import { type ObjectStore, Objm } from '@nats-io/obj';
import { SwarmError } from '../errors.ts';
import { artifactRefOf, checkContent, checkRef } from '../ledger/artifact-content.ts';
import type { ArtifactRef } from '../ledger/content.ts';
import type { NatsClient } from './client.ts';
import { LEDGER_BUCKET } from './ledger-streams.ts';
import { natsError } from './nats-error.ts';

/** The artifacts of a ledger, in a bucket, named by their hash. */
export interface LedgerArtifactStore {
  /** @throws SwarmError 'artifact-too-large', 'nats-unavailable', 'nats-rejected' */
  put(bytes: Uint8Array, mediaType: string): Promise<ArtifactRef>;
  /** @throws SwarmError 'artifact-missing', 'artifact-corrupt', 'nats-unavailable', 'nats-rejected' */
  get(ref: ArtifactRef): Promise<Uint8Array>;
}

/** `ns` is part of each name: namespaces share the bucket and nothing in it. */
export function createLedgerArtifactStore(
  client: NatsClient,
  ns: string,
  maxBytes: number,
): LedgerArtifactStore {
  const nameOf = ({ sha256 }: ArtifactRef) => `${ns}/${sha256}`;
  const withBucket = async <T>(doing: string, work: (bucket: ObjectStore) => Promise<T>): Promise<T> => {
    try {
      return await work(await new Objm(client.live()).open(LEDGER_BUCKET));
    } catch (error) {
      throw natsError(error, doing);
    }
  };
  return {
    async put(bytes, mediaType) {
      const own = Uint8Array.from(bytes);
      const ref = await artifactRefOf(own, mediaType, maxBytes);
      await withBucket('storing an artifact', async (bucket) => {
        if (!(await isStored(bucket, nameOf(ref), ref))) await bucket.putBlob({ name: nameOf(ref) }, own);
      });
      return ref;
    },
    async get(ref) {
      checkRef(ref);
      return withBucket('reading an artifact', async (bucket) => {
        const bytes = await read(bucket, nameOf(ref), ref);
        if (bytes === undefined) {
          throw new SwarmError('artifact-missing', `no artifact ${ref.sha256} is stored`);
        }
        await checkContent(ref, bytes);
        return Uint8Array.from(bytes);
      });
    },
  };
}

/** One that is damaged is stored once more: the good bytes are at hand. */
async function isStored(bucket: ObjectStore, name: string, ref: ArtifactRef): Promise<boolean> {
  try {
    const bytes = await read(bucket, name, ref);
    if (bytes === undefined) return false;
    await checkContent(ref, bytes);
    return true;
  } catch (error) {
    if (error instanceof SwarmError && error.code === 'artifact-corrupt') return false;
    throw error;
  }
}

/** A size that is not the one of the reference is enough to know; a huge one is not read. */
async function read(bucket: ObjectStore, name: string, ref: ArtifactRef): Promise<Uint8Array | undefined> {
  const info = await bucket.info(name);
  if (info === null || info.deleted) return undefined;
  if (info.size !== ref.size) return new Uint8Array(0);
  return (await bucket.getBlob(name)) ?? undefined;
}
