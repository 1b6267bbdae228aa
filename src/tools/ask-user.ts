import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { defineTool } from './define-tool.ts';
import type { TypedTool } from './tool.ts';

const questionSchema = z.object({
  question: z.string().min(1).describe('The question, complete in itself: the person sees nothing else.'),
  options: z.array(z.string()).max(20).optional().describe('Answers to choose from, if they are few.'),
});

/** What a model asks with. */
export type Question = z.output<typeof questionSchema>;

/** Options of {@link askUser}. */
export interface AskUserOptions {
  /** Default `ask_user`. */
  readonly name?: string;
  readonly description?: string;
}

const OPTIONS: OptionNames<AskUserOptions> = { name: true, description: true };

/**
 * A tool with which a model asks a person. The call waits among the approvals as a question; the text of the
 * answer is its result. Nothing is executed, so a crash while it waits loses nothing.
 * @throws SwarmError 'invalid-definition' for an unusable name or an unknown option
 */
export function askUser(options: AskUserOptions = {}): TypedTool<Question, string, unknown> {
  assertOptions('askUser', options, OPTIONS);
  const tool = defineTool({
    name: options.name ?? 'ask_user',
    description:
      options.description ??
      'Asks the user a question and waits for the answer. Use it only where the answer changes what you do next.',
    inputSchema: questionSchema,
    rememberable: false,
    recovery: 'replay_safe',
    execute: (): string => {
      throw new SwarmError('machine-fault', 'a question is answered by a person, never executed');
    },
  });
  return Object.freeze({ ...tool, parks: 'question' as const });
}
