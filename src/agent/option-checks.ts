import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import { checkHooks } from '../lifecycle/declared-hooks.ts';
import type { Hooks } from '../lifecycle/hooks.ts';
import { safeName } from '../tools/safe-text.ts';
import type { RuntimeOptions } from './runtime-options.ts';
import type { RunOptions } from './start-run.ts';

// Runtime twins of the option types: JavaScript callers and spread objects get past them, and an option that is
// misspelt would silently not hold.

const callable = z.custom((value) => typeof value === 'function', 'must be a function').optional();
const object = z
  .custom((value) => typeof value === 'object' && value !== null, 'must be an object')
  .optional();
const anything = z.unknown().optional();

const runtimeOptions = z.strictObject({
  agents: object,
  ledger: z.custom(isLedger, 'must be a ledger or the promise of one').optional(),
  pool: z.custom(isPool, 'must be a pool: submit(), wake() and close()').optional(),
  sinks: z.array(z.custom(isSink, 'must be a sink: a name, and publish()')).optional(),
  inspect: object,
  permission: callable,
  discovery: object,
  captureRequests: z.boolean().optional(),
  hooks: object,
  limits: object,
  clock: object,
  ids: object,
  machines: object,
  random: callable,
} satisfies { readonly [K in keyof Required<RuntimeOptions>]: z.ZodType });

const runOptions = {
  sessionId: z.string().optional(),
  runId: z.string().optional(),
  signal: z.instanceof(AbortSignal, { error: 'must be an AbortSignal' }).optional(),
  onApproval: z.enum(['wait', 'pause']).optional(),
  boundTools: z.array(z.string()).optional(),
  budget: object,
  discovery: object,
  clientTools: anything,
  context: anything,
} satisfies { readonly [K in keyof Required<RunOptions>]: z.ZodType };

const schemas = {
  createRuntime: runtimeOptions,
  run: z.strictObject(runOptions),
  fork: z.strictObject({
    ...runOptions,
    sessionId: z.undefined().optional(),
    atSeq: anything,
    edit: object,
    agent: object,
    indeterminate: callable,
  }),
  resume: z.strictObject({ ...runOptions, sessionId: z.undefined().optional(), indeterminate: callable }),
} as const;

/** @throws SwarmError 'invalid-definition' naming the option that is unknown or of another kind */
export function checkOptions(where: keyof typeof schemas, options: unknown): void {
  const parsed = schemas[where].safeParse(options);
  if (parsed.success) return;
  const [issue] = parsed.error.issues;
  const complaint =
    issue?.code === 'unrecognized_keys'
      ? `there is no option ${issue.keys.map((key) => safeName(key)).join(', ')}`
      : `${issue?.path.map(String).join('.') || 'the options'}: ${issue?.message ?? ''}`;
  throw new SwarmError('invalid-definition', `${where}: ${complaint}`);
}

/** Hooks as a list, checked. @throws SwarmError 'invalid-definition' */
export function checkedHooks(hooks: Hooks | readonly Hooks[] | undefined): readonly Hooks[] {
  if (hooks === undefined) return [];
  const list: readonly Hooks[] = Array.isArray(hooks) ? hooks : [hooks as Hooks];
  for (const one of list) checkHooks(one);
  return list;
}

function isSink(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'publish' in value && typeof value.publish === 'function' && 'name' in value;
}

function isPool(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'submit' in value && 'wake' in value;
}

function isLedger(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return 'then' in value || ('acquire' in value && typeof value.acquire === 'function');
}
