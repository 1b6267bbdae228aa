import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import { type UserPart, userPartSchema } from '../ledger/content.ts';

/** What a run starts from: text, or message parts with text, images and files. */
export type RunInput = string | readonly UserPart[];

const partsSchema = z.array(userPartSchema).min(1);

/** @throws SwarmError 'invalid-input' naming the part */
export function inputParts(input: RunInput): readonly UserPart[] {
  if (typeof input === 'string') return [{ type: 'text', text: input }];
  const parsed = partsSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.map(String).join('.') ?? '';
  throw new SwarmError(
    'invalid-input',
    `the input of a run is text or message parts: ${where} ${issue?.message ?? ''}`,
  );
}
