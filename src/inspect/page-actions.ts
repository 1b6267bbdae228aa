import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import { createRedactor } from '../events/redaction.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { InspectedRuntime } from '../lifecycle/inspector.ts';
import { PAGE_LIMITS } from '../limits.ts';
import type { PageSettings } from './page-options.ts';

const id = z.string().min(1).max(512);
const text = z.string().max(PAGE_LIMITS.maxTextChars);

const decideSchema = z.strictObject({
  id,
  decision: z.enum(['approve', 'deny']),
  scope: z.enum(['call', 'turn', 'session']).optional(),
  reason: text.optional(),
  answer: text.optional(),
  argsHash: id.optional(),
});
const steerSchema = z.strictObject({ session: id, text: text.min(1) });
const cancelSchema = z.strictObject({ session: id, reason: text.optional() });
const forkSchema = z.strictObject({ session: id, atSeq: z.int().positive() });

/** Where its facts come from is not its affair. */
type Asked = Omit<InspectedRuntime, 'ledger'>;

/** Who acts, in the ledger: the page cannot tell one holder of the token from another. */
const ACTOR = 'inspector page';

/** What a viewer with the token may have done, by path. Each gives what it is answered with. */
export const PAGE_ACTIONS: Readonly<Record<string, (runtime: Asked, body: unknown) => Promise<JsonObject>>> =
  {
    '/api/decide': async (runtime, body) => {
      const { id: request, reason, scope, answer, decision, argsHash } = read(decideSchema, body);
      await runtime.decide(request, {
        decision,
        actor: ACTOR,
        ...(scope === undefined ? {} : { scope }),
        ...(reason === undefined ? {} : { reason }),
        ...(answer === undefined ? {} : { answer }),
        ...(argsHash === undefined ? {} : { argsHash }),
      });
      return {};
    },
    '/api/steer': async (runtime, body) => {
      const { session, text: words } = read(steerSchema, body);
      await runtime.steer(session, words);
      return {};
    },
    '/api/cancel': async (runtime, body) => {
      const { session, reason } = read(cancelSchema, body);
      await runtime.cancel(session, reason ?? 'cancelled from the inspector page');
      return {};
    },
    '/api/fork': async (runtime, body) => {
      const { session, atSeq } = read(forkSchema, body);
      if (runtime.fork === undefined)
        throw new SwarmError('invalid-input', 'this runtime cannot fork a session');
      return { session: await runtime.fork(session, atSeq) };
    },
  };

/**
 * Open requests. Whoever decides has to see what for; who only looks sees arguments where the content policy lets
 * them out.
 */
export async function pendingRequests(
  runtime: Asked,
  settings: PageSettings,
  controls: boolean,
): Promise<readonly object[]> {
  const redactor = settings.redactor ?? createRedactor();
  const shows =
    controls ||
    (typeof settings.content === 'boolean' ? settings.content : settings.content.includes('approval'));
  const open = await runtime.pending();
  return open.map(({ input, question, ...facts }) =>
    shows
      ? {
          ...facts,
          ...(input === undefined ? {} : { input: redactor.value(input) }),
          ...(question === undefined ? {} : { question: redactor.text(question) }),
        }
      : facts,
  );
}

function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new SwarmError('invalid-input', z.prettifyError(parsed.error));
}
