import type { ArtifactRef, ToolOutput, UserPart } from './content.ts';
import type { Ledger } from './ledger.ts';

/** Base64 text longer than this is kept as an artifact instead of inside a record. */
const MAX_INLINE_CHARS = 4_096;

/** Parts fit for a record: large base64 data moved to artifacts, which are durable when this resolves. */
export function storeParts(
  parts: readonly UserPart[],
  ledger: Pick<Ledger, 'putArtifact'>,
): Promise<UserPart[]> {
  return Promise.all(parts.map((part) => storePart(part, ledger)));
}

/** A tool's output fit for a record. */
export async function storeOutput(
  output: ToolOutput,
  ledger: Pick<Ledger, 'putArtifact'>,
): Promise<ToolOutput> {
  if (output.type !== 'content') return output;
  return { type: 'content', parts: await storeParts(output.parts, ledger) };
}

/** True for what stays inside of a record; anything else is kept as an artifact. */
export function isInline(part: UserPart): boolean {
  if (part.type === 'text' || part.source.type !== 'base64') return true;
  return part.source.data.length <= MAX_INLINE_CHARS;
}

async function storePart(part: UserPart, ledger: Pick<Ledger, 'putArtifact'>): Promise<UserPart> {
  if (part.type === 'text' || part.source.type !== 'base64' || isInline(part)) return part;
  const ref = await ledger.putArtifact(Buffer.from(part.source.data, 'base64'), part.mediaType);
  return { ...part, source: { type: 'artifact', ref } };
}

/** Parts as a provider needs them: artifacts read back as base64. Parts without any are returned as they are. */
export async function loadParts(
  parts: readonly UserPart[],
  ledger: Pick<Ledger, 'getArtifact'>,
): Promise<readonly UserPart[]> {
  if (!parts.some((part) => part.type !== 'text' && part.source.type === 'artifact')) return parts;
  return Promise.all(parts.map((part) => loadPart(part, ledger)));
}

/** A tool's output as a provider needs it. */
export async function loadOutput(
  output: ToolOutput,
  ledger: Pick<Ledger, 'getArtifact'>,
): Promise<ToolOutput> {
  if (output.type !== 'content') return output;
  return { type: 'content', parts: [...(await loadParts(output.parts, ledger))] };
}

async function loadPart(part: UserPart, ledger: Pick<Ledger, 'getArtifact'>): Promise<UserPart> {
  if (part.type === 'text' || part.source.type !== 'artifact') return part;
  return { ...part, source: { type: 'base64', data: await base64Of(part.source.ref, ledger) } };
}

async function base64Of(ref: ArtifactRef, ledger: Pick<Ledger, 'getArtifact'>): Promise<string> {
  return Buffer.from(await ledger.getArtifact(ref)).toString('base64');
}
