import { SwarmError } from '../errors.ts';
import type { UserPart } from '../ledger/content.ts';
import { isInline } from '../ledger/media.ts';
import type { Limits } from '../limits.ts';

/**
 * What an input may take of a batch: it stands in one fact, with others beside it. That of a child stands beside the
 * call that asks for it, that of a run beside what its session may use.
 */
const SHARE = { child: 0.5, run: 0.875 } as const;

/**
 * Why an input is too large to be a fact; undefined for one that is not. A batch that no ledger takes would leave the
 * turn that asks open, and whoever takes it up would come to the same place.
 */
export function oversizedInput(
  input: readonly UserPart[],
  { ledger }: Limits,
  whose: keyof typeof SHARE = 'child',
): string | undefined {
  const most = Math.floor(ledger.maxBatchBytes * SHARE[whose]);
  const inline = input.map((part) => (isInline(part) ? part : { ...part, source: {} }));
  const bytes = Buffer.byteLength(JSON.stringify(inline));
  if (bytes > most) return `its input has ${bytes} bytes beside files, and ${most} are the most`;
  const largest = Math.max(0, ...input.map(fileBytes));
  if (largest <= ledger.maxArtifactBytes) return undefined;
  return `a file of its input has ${largest} bytes, and ${ledger.maxArtifactBytes} are the most`;
}

/** @throws SwarmError 'input-too-large' for the input of a run that is */
export function assertFits(input: readonly UserPart[], limits: Limits): void {
  const oversized = oversizedInput(input, limits, 'run');
  if (oversized !== undefined) throw new SwarmError('input-too-large', oversized);
}

function fileBytes(part: UserPart): number {
  if (part.type === 'text' || part.source.type !== 'base64') return 0;
  return Buffer.byteLength(part.source.data, 'base64');
}
