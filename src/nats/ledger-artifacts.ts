import { type ContentPolicy, isContentLetOut } from '../events/event-projector.ts';
import type { RunEvent } from '../events/event-schemas.ts';
import type { ArtifactRef } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ArtifactBucket } from './artifact-bucket.ts';

/** Facts that name an artifact of the ledger. */
const REFERENCES = ['argsRef', 'resultRef'] as const;

/**
 * Puts the artifacts an event names where its readers find them, if they may see content at all.
 * @throws what the ledger and the bucket throw
 */
export async function copyArtifacts(
  event: RunEvent,
  content: ContentPolicy,
  ledger: Pick<Ledger, 'getArtifact'>,
  bucket: ArtifactBucket,
): Promise<void> {
  if (!isContentLetOut(content, event.type)) return;
  const facts: Readonly<Partial<Record<string, unknown>>> = { ...event.data };
  for (const field of REFERENCES) {
    // The schema of events has references in these fields, and nothing else.
    const ref = facts[field] as ArtifactRef | undefined;
    if (ref === undefined || (await bucket.has(ref.sha256))) continue;
    await bucket.put(await ledger.getArtifact(ref), ref.mediaType);
  }
}
