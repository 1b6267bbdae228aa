import { z } from 'zod';
import { type Agent, type AnyAgent, isAgent } from '../agent/define-agent.ts';
import { SwarmError } from '../errors.ts';
import { type LimitOptions, resolveLimits } from '../limits.ts';
import { safeName } from '../tools/safe-text.ts';

/**
 * When a supervisor is woken: `graph` at each work that settles, `swarm` only when something needs it or when
 * everything is settled.
 */
export type SwarmMode = 'swarm' | 'graph';

/** Options of {@link defineSwarm}. */
export interface SwarmDefinition<Context, Output = string> {
  /** One subject token: `[A-Za-z0-9_-]`, at most 64 characters. Shown in events. */
  readonly name: string;
  /** What the swarm is for, in one sentence. */
  readonly description?: string;
  /** Schedules the work, and answers: what it yields is the result of a run. */
  readonly supervisor: Agent<Output, Context>;
  /** Whom it may give work to. Each work runs in a session of its own, with the tools of its agent alone. */
  readonly agents: readonly Agent<unknown, Context>[];
  readonly mode: SwarmMode;
  /** Bounds of the supervisor and of all below it; they go before its own. */
  readonly limits?: LimitOptions;
}

/** A swarm, frozen: made by {@link defineSwarm}. `Output` is what a run of it yields, `Context` what its agents need. */
export interface Swarm<out Output = string, in Context = unknown> {
  readonly kind: 'swarm';
  readonly name: string;
  readonly description: string;
  readonly supervisor: AnyAgent;
  readonly agents: readonly AnyAgent[];
  readonly mode: SwarmMode;
  readonly limits: LimitOptions;
  /** Types only; never present at run time. */
  readonly '~types'?: { readonly output: Output; readonly takes: (context: Context) => void };
}

/** A swarm whose types do not matter: registries, listings. */
export type AnySwarm = Swarm<unknown, never>;

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Agents one supervisor may choose from. */
const MAX_AGENTS = 256;

const agent = z.custom<AnyAgent>(isAgent, 'must be an agent made by defineAgent()');

const definitionSchema = z.strictObject({
  name: z.string().regex(NAME, 'must match [A-Za-z0-9_-]{1,64}'),
  description: z.string().optional(),
  supervisor: agent,
  agents: z.array(agent).min(1, 'must name at least one agent').max(MAX_AGENTS),
  mode: z.enum(['swarm', 'graph']),
  limits: z.custom<LimitOptions>((value) => typeof value === 'object' && value !== null).optional(),
});

/**
 * Makes a swarm: a supervisor whose model schedules work for other agents while it runs, on a durable schedule. Plain
 * frozen data; running it takes a runtime.
 *
 * @throws SwarmError 'invalid-definition' naming the swarm and the field, 'invalid-limit'
 * @example
 * const review = defineSwarm({ name: 'review', supervisor: lead, agents: [reviewer], mode: 'swarm' });
 * const result = await runtime.run(review, 'Review the folder src.').result;
 */
export function defineSwarm<Context = unknown, Output = string>(
  definition: SwarmDefinition<Context, Output>,
): Swarm<Output, Context> {
  const parsed = definitionSchema.safeParse(definition);
  if (!parsed.success) throw wrongSwarm(definition, complaintOf(parsed.error.issues[0]));
  const { name, description = '', supervisor, agents, mode, limits = {} } = parsed.data;
  resolveLimits(limits);
  if (supervisor.handoffs.length > 0) {
    throw wrongSwarm(
      definition,
      `supervisor: ${supervisor.name} hands over to others; who schedules work stays`,
    );
  }
  const names = new Set([supervisor.name]);
  for (const one of agents) {
    if (names.has(one.name)) throw wrongSwarm(definition, `agents: there are two agents named ${one.name}`);
    names.add(one.name);
  }
  return Object.freeze({
    kind: 'swarm' as const,
    name,
    description,
    supervisor,
    agents: Object.freeze([...agents]),
    mode,
    limits: Object.freeze({ ...limits }),
  });
}

/** True for what {@link defineSwarm} returned. */
export function isSwarm(value: unknown): value is AnySwarm {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    value.kind === 'swarm' &&
    'supervisor' in value
  );
}

function complaintOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys') {
    return `unknown field ${issue.keys.map((key) => safeName(key)).join(', ')}`;
  }
  const path = issue?.path.map(String).join('.') ?? '';
  return `${path === '' ? '' : `${path}: `}${issue?.message ?? ''}`;
}

function wrongSwarm(definition: unknown, complaint: string): SwarmError {
  const name: unknown =
    typeof definition === 'object' && definition !== null && 'name' in definition
      ? definition.name
      : undefined;
  const who = typeof name === 'string' ? `swarm ${safeName(name)}` : 'a swarm without a name';
  return new SwarmError('invalid-definition', `${who}: ${complaint}`);
}
