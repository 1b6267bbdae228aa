import type { ArtifactRef, ToolOutput, UserPart } from '../ledger/content.ts';

/** Base64 characters up to which an image or file may stand in a record. */
const MAX_INLINE_CHARS = 4_096;

/**
 * `output` with the base64 data of its images and files moved into artifacts, so that a record stays small and a
 * replay finds the same bytes. Without such data it is `output` itself.
 * @param put makes bytes durable before it resolves; what it throws is passed on
 */
export async function storeMedia(
  output: ToolOutput,
  put: (bytes: Uint8Array, mediaType: string) => Promise<ArtifactRef>,
): Promise<ToolOutput> {
  if (output.type !== 'content' || !output.parts.some(isInline)) return output;
  return { type: 'content', parts: await Promise.all(output.parts.map((part) => storePart(part, put))) };
}

async function storePart(
  part: UserPart,
  put: (bytes: Uint8Array, mediaType: string) => Promise<ArtifactRef>,
): Promise<UserPart> {
  if (part.type === 'text' || part.source.type !== 'base64' || !isInline(part)) return part;
  const ref = await put(Buffer.from(part.source.data, 'base64'), part.mediaType);
  return { ...part, source: { type: 'artifact', ref } };
}

function isInline(part: UserPart): boolean {
  return part.type !== 'text' && part.source.type === 'base64' && part.source.data.length > MAX_INLINE_CHARS;
}
