import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import type { Hooks } from '../lifecycle/hooks.ts';
import { type LimitOptions, resolveLimits } from '../limits.ts';
import type { Model, ModelSettings } from '../model/adapter.ts';
import { bindTools } from '../tools/bind-tools.ts';
import type { Binding } from '../tools/binding.ts';
import { checkDiscovery, type DiscoveryOptions } from '../tools/discovery-policy.ts';
import { isZodSchema } from '../tools/json-schema.ts';
import { createNameClaims } from '../tools/name-claims.ts';
import { type OutputContract, outputContract } from '../tools/output-contract.ts';
import type { PermissionPolicy } from '../tools/permission.ts';
import { RESERVED_TOOL_NAMES } from '../tools/reserved-names.ts';
import { safeName } from '../tools/safe-text.ts';
import type { Tool } from '../tools/tool.ts';
import {
  type AnyToolSource,
  checkSourceNames,
  isToolSource,
  isToolSourceDefinition,
} from '../tools/tool-source.ts';
import { type Delegation, delegationsOf } from './delegation.ts';
import { checkedHooks } from './option-checks.ts';

/** How an agent's history is folded. */
export interface CompactionOptions {
  /** Sums up, for example a cheaper one. Default: the model of the agent. */
  readonly model?: Model;
}

/** Options of {@link defineAgent}. */
export interface AgentDefinition<
  Context,
  Output = string,
  Handoffs extends readonly HandoffTarget[] = readonly [],
> {
  /** One subject token: `[A-Za-z0-9_-]`, at most 64 characters. Shown in events and to other agents. */
  readonly name: string;
  /** What the agent is for, in one sentence; other agents read it. */
  readonly description?: string;
  /** The system text. Keep it free of times and ids: providers cache it. */
  readonly instructions: string;
  readonly model: Model;
  readonly settings?: ModelSettings;
  /** Tools, and sources of tools such as an MCP server: those are `toolSources` wherever they stand. */
  readonly tools?: readonly (Tool<Context> | AnyToolSource<Context>)[];
  /** Tools that come and go while a turn runs. Where one cannot stand beside `tools`, it is left out and told of. */
  readonly toolSources?: readonly AnyToolSource<Context>[];
  /**
   * Children this agent may ask: its model sees each as the tool `ask_<name>`. A child works in a session of its own
   * and answers once; several are at work at the same time.
   */
  readonly agents?: readonly Agent<unknown, Context>[];
  /**
   * Agents this one may hand the conversation over to: its model sees each as the tool `transfer_to_<name>`. A name
   * is found in the registry of the runtime, so that agents can hand over to each other.
   */
  readonly handoffs?: Handoffs & readonly (Agent<unknown, Context> | string)[];
  /** How this agent finds tools that are not in every request. */
  readonly discovery?: DiscoveryOptions;
  /**
   * Folds history that grows too long for the model into a summary, at the border of two steps. Default: on where the
   * model has a `contextWindow`, with its own requests for the summary; an agent that another one asks has it only if
   * it is given here. `false` turns it off.
   */
  readonly compaction?: CompactionOptions | false;
  /**
   * What a run yields as `result.output`, instead of its text. Asked for by the provider's own means where the model
   * says it has them, else by a tool; checked; a wrong one gets one further step with what is wrong about it, then the
   * run fails with kind `output-invalid`.
   */
  readonly output?: z.ZodType<Output>;
  /** Judges calls after the runtime's own policy, also those of its children and theirs; it can only narrow. */
  readonly permission?: PermissionPolicy;
  /** Bounds of this agent; the runtime's hold for the rest. */
  readonly limits?: LimitOptions;
  /**
   * Hooks of this agent, after those of the runtime. Its gates stand before the work of its children, and of agents it
   * hands over to, as well; `agentPath` of their subjects says whose work it is.
   */
  readonly hooks?: Hooks;
}

/** An agent, frozen: made by {@link defineAgent}. `Output` is what a run of it yields, `Context` what it needs. */
export interface Agent<out Output = string, in Context = unknown> {
  readonly kind: 'agent';
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly model: Model;
  readonly settings: ModelSettings;
  readonly tools: readonly Tool<Context>[];
  readonly toolSources: readonly AnyToolSource<Context>[];
  /** The tools, checked and prepared once: the ceiling of every turn of this agent. */
  readonly binding: Binding;
  /** Children it may ask. */
  readonly agents: readonly AnyAgent[];
  /** Agents it may hand over to; names are found in the registry of the runtime. */
  readonly handoffs: readonly (AnyAgent | string)[];
  /** The tools by which its model reaches them. */
  readonly delegations: readonly Delegation[];
  readonly discovery: DiscoveryOptions | undefined;
  readonly compaction: CompactionOptions | false | undefined;
  /** The schema of its output, prepared once. */
  readonly output: OutputContract | undefined;
  readonly permission: PermissionPolicy | undefined;
  readonly limits: LimitOptions;
  readonly hooks: Hooks | undefined;
  /** What it was made of: a base for another one, `defineAgent({ ...agent.definition, model })`. */
  readonly definition: Omit<AgentDefinition<Context, Output>, 'handoffs'>;
  /** Types only; never present at run time. */
  readonly '~types'?: { readonly output: Output };
}

/** An agent whose types do not matter: registries, listings. */
export type AnyAgent = Agent<unknown, never>;

/** Whom an agent may hand over to. */
export type HandoffTarget = AnyAgent | string;

/** What a run may yield after handoffs. Of an agent that is only named nothing is known. */
export type HandoffOutput<Targets extends readonly HandoffTarget[]> = Targets[number] extends infer Target
  ? Target extends string
    ? unknown
    : Target extends Agent<infer Output, never>
      ? Output
      : never
  : never;

const AGENT_NAME = /^[A-Za-z0-9_-]{1,64}$/;

const settingsSchema = z.strictObject({
  temperature: z.number().optional(),
  topP: z.number().optional(),
  seed: z.int().optional(),
  maxOutputTokens: z.int().positive().optional(),
  stopSequences: z.array(z.string()).optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  parallelToolCalls: z.boolean().optional(),
  reasoning: z.string().optional(),
  toolChoice: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.enum(['auto', 'none', 'required']) }),
      z.strictObject({ type: z.literal('tool'), toolName: z.string() }),
    ])
    .optional(),
  providerOptions: z.record(z.string(), z.json()).optional(),
});

const definitionSchema = z.strictObject({
  name: z.string().regex(AGENT_NAME, 'must match [A-Za-z0-9_-]{1,64}'),
  description: z.string().optional(),
  instructions: z.string(),
  model: z.custom<Model>(isModel, 'must be a model, for example of openaiCompatible()'),
  settings: settingsSchema.optional(),
  tools: z
    .array(
      z.custom<Tool<never> | AnyToolSource>(
        (value) => isTool(value) || isSource(value),
        'must be a tool made by defineTool(), or a source of tools',
      ),
    )
    .optional(),
  toolSources: z
    .array(
      z.custom<AnyToolSource>(isSource, 'must have a name [A-Za-z0-9_.:-]{1,64}, a revision and tools()'),
    )
    .optional(),
  discovery: z.custom<DiscoveryOptions>((value) => typeof value === 'object' && value !== null).optional(),
  compaction: z
    .union([
      z.literal(false),
      z.strictObject({ model: z.custom<Model>(isModel, 'must be a model').optional() }),
    ])
    .optional(),
  agents: z.array(z.custom<AnyAgent>(isAgent, 'must be an agent made by defineAgent()')).optional(),
  handoffs: z
    .array(
      z.custom<AnyAgent | string>(
        (value) => isAgent(value) || (typeof value === 'string' && AGENT_NAME.test(value)),
        'must be an agent made by defineAgent(), or the name of one',
      ),
    )
    .optional(),
  output: z.custom<z.ZodType>(isZodSchema, 'must be a zod 4 schema').optional(),
  permission: z
    .custom<PermissionPolicy>((value) => typeof value === 'function', 'must be a function')
    .optional(),
  limits: z.custom<LimitOptions>((value) => typeof value === 'object' && value !== null).optional(),
  hooks: z.custom<Hooks>((value) => typeof value === 'object' && value !== null).optional(),
});

/**
 * Makes an agent: plain frozen data; running it takes a runtime. Its context type is what its tools need.
 *
 * @throws SwarmError 'invalid-definition' naming the agent and the field; 'duplicate-tool', 'reserved-tool-name',
 * 'look-alike-tool-name', 'unusable-schema', 'invalid-limit' for its tools and limits
 * @example
 * const reviewer = defineAgent({
 *   name: 'reviewer',
 *   instructions: 'You review code. Read before you judge.',
 *   model: openaiCompatible({ baseURL: 'http://127.0.0.1:8080/v1', model: 'local' }),
 *   tools: [readFile],
 * });
 */
export function defineAgent<
  Context = unknown,
  Output = string,
  const Handoffs extends readonly HandoffTarget[] = readonly [],
>(definition: AgentDefinition<Context, Output, Handoffs>): Agent<Output | HandoffOutput<Handoffs>, Context> {
  if (isAgent(definition)) throw notDefinition(definition);
  const parsed = definitionSchema.safeParse(definition);
  if (!parsed.success) throw invalidAgent(definition, parsed.error.issues[0]);
  const given = parsed.data;
  resolveLimits(given.limits);
  checkedHooks(given.hooks);
  checkDiscovery(given.discovery, `agent ${given.name}`);
  const all = definition.tools ?? [];
  const tools = Object.freeze(all.filter((one): one is Tool<Context> => isTool(one)));
  const sources = all.filter((one): one is AnyToolSource<Context> => !isTool(one));
  const toolSources = Object.freeze([...sources, ...(definition.toolSources ?? [])]);
  checkSourceNames(toolSources, `agent ${given.name}`);
  const delegations = checkedDelegations(given);
  return Object.freeze({
    kind: 'agent' as const,
    name: given.name,
    description: given.description ?? '',
    instructions: given.instructions,
    model: given.model,
    settings: Object.freeze({ ...definition.settings }),
    tools,
    toolSources,
    binding: bindTools(tools, { reservedNames: reservedNames({ delegations }) }),
    agents: Object.freeze([...(definition.agents ?? [])]),
    handoffs: Object.freeze([...(definition.handoffs ?? [])]),
    delegations,
    discovery: definition.discovery,
    compaction: definition.compaction,
    output: outputOf(given),
    permission: given.permission,
    limits: Object.freeze({ ...given.limits }),
    hooks: definition.hooks,
    definition: Object.freeze({ ...definition }),
  });
}

/** @throws SwarmError 'invalid-definition' for two ways that would be one tool */
function checkedDelegations({
  name,
  agents = [],
  handoffs = [],
}: z.infer<typeof definitionSchema>): readonly Delegation[] {
  const delegations = delegationsOf(agents, handoffs);
  const claims = createNameClaims([]);
  for (const { bound } of delegations) {
    const conflict = claims.claim(bound.tool);
    if (conflict === undefined) continue;
    throw new SwarmError('invalid-definition', `agent ${name}: agents and handoffs: ${conflict.message}`);
  }
  return delegations;
}

/** Names that no tool of an agent may have: those of the runtime's own tools, and of its ways to other agents. */
export function reservedNames({ delegations }: Pick<AnyAgent, 'delegations'>): readonly string[] {
  return [...RESERVED_TOOL_NAMES, ...delegations.map(({ bound }) => bound.name)];
}

function outputOf({ name, model, output }: z.infer<typeof definitionSchema>): OutputContract | undefined {
  if (output === undefined) return undefined;
  const { tools, structuredOutput } = model.capabilities;
  if (tools === false && structuredOutput !== true) {
    throw new SwarmError(
      'invalid-definition',
      `agent ${name}: output: its model takes neither a schema nor tools`,
    );
  }
  return outputContract(output);
}

/** True for what {@link defineAgent} returned. */
export function isAgent(value: unknown): value is AnyAgent {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    value.kind === 'agent' &&
    'binding' in value
  );
}

function notDefinition({ name }: { readonly name: unknown }): SwarmError {
  return new SwarmError(
    'invalid-definition',
    `agent ${safeName(String(name))}: this is an agent, not a definition; to make another of it, spread agent.definition`,
  );
}

function isModel(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'step' in value && typeof value.step === 'function';
}

function isSource(value: unknown): boolean {
  return isToolSource(value) || isToolSourceDefinition(value);
}

function isTool(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'tool';
}

function invalidAgent(definition: unknown, issue: z.core.$ZodIssue | undefined): SwarmError {
  const name: unknown =
    typeof definition === 'object' && definition !== null && 'name' in definition
      ? definition.name
      : undefined;
  const who = typeof name === 'string' ? `agent ${safeName(name)}` : 'an agent without a name';
  if (issue?.code === 'unrecognized_keys') {
    return new SwarmError(
      'invalid-definition',
      `${who}: unknown field ${issue.keys.map((key) => safeName(key)).join(', ')}`,
    );
  }
  const path = issue?.path.map(String).join('.') ?? '';
  return new SwarmError(
    'invalid-definition',
    `${who}: ${path === '' ? '' : `${path}: `}${issue?.message ?? ''}`,
  );
}
