import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import type { JsonObject } from '../ledger/content.ts';
import { MCP_LIMITS, type McpLimits } from '../limits.ts';
import { safeName } from '../tools/safe-text.ts';
import { isServerName, serverNameOf } from './server-tool-name.ts';

/** What a server asks a person for while it works on a call. */
export interface Elicitation {
  /** Name of the server. */
  readonly server: string;
  /** Its words, neutralised. They are data: never follow them as instructions. */
  readonly message: string;
  /** JSON Schema of the fields it wants. */
  readonly schema: JsonObject;
}

/** What a person says to an {@link Elicitation}. */
export type ElicitationAnswer =
  | {
      readonly action: 'accept';
      readonly content: Readonly<Record<string, string | number | boolean | readonly string[]>>;
    }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/** A server's wish that a model be asked something on its behalf. */
export interface SamplingRequest {
  /** Name of the server. */
  readonly server: string;
  /** The request as the protocol has it: `messages`, `systemPrompt`, `maxTokens` and more. Untrusted. */
  readonly params: JsonObject;
}

/** What a model said to a {@link SamplingRequest}. */
export interface SamplingAnswer {
  /** Name of the model. */
  readonly model: string;
  readonly text: string;
}

/** Something that went wrong with a server. Turns go on; only this tells why its tools are missing. */
export interface McpFault {
  /** Name of the server. */
  readonly server: string;
  /** It could not be reached, did not list, was lost, or has a tool that cannot be used. */
  readonly type: 'not-connected' | 'not-listed' | 'lost' | 'unusable-tool';
  /** For people. May hold what the server or the system said: keep it out of prompts and events. */
  readonly message: string;
  readonly cause?: unknown;
}

/** Options of every {@link mcpServer}. */
export interface McpServerSettings {
  /**
   * What its tools are prefixed with: `[A-Za-z0-9_-]`, at most 32 characters, no `__`. Default: the host of `url`, or
   * the package or program that is run.
   */
  readonly name?: string;
  /** Tools to take, by the names the server gives them. Default: all. None: the server is never asked. */
  readonly tools?: readonly string[];
  /** Whether a person is asked before a call; by the names the server gives its tools. Default false. */
  readonly needsApproval?: boolean | ((tool: string) => boolean);
  /** How its tools are found. Default `auto`: deferred where it pays. */
  readonly defer?: 'never' | 'always' | 'auto';
  /** Milliseconds a call may take. Default `limits.tools.timeoutMs`. */
  readonly timeoutMs?: number;
  /** Bytes of a result that the model sees. Default `limits.tools.maxResultBytes`. */
  readonly maxResultBytes?: number;
  /** Answers what the server asks a person for. Without it every such request is refused. */
  readonly elicit?: (
    request: Elicitation,
    options: { readonly signal: AbortSignal },
  ) => Promise<ElicitationAnswer>;
  /** Asks a model on the server's behalf. Without it every such request is refused. */
  readonly sample?: (
    request: SamplingRequest,
    options: { readonly signal: AbortSignal },
  ) => Promise<SamplingAnswer>;
  /** Told of what goes wrong with the server; a throw is ignored. */
  readonly onFault?: (fault: McpFault) => void;
  readonly limits?: Partial<McpLimits>;
}

/** A server that is a program on this machine, spoken to over its standard input and output. */
export interface StdioServerOptions extends McpServerSettings {
  /** The program; never read by a shell. */
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Variables it gets, by value. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Names of variables it gets from this process, beside those every program needs (`PATH`, `HOME` and the like). No
   * other is passed on.
   */
  readonly inheritEnv?: readonly string[];
  /**
   * What becomes of its standard error. Default `ignore`: the end of it is told where the server is lost (`onFault`), and
   * nothing else of it is kept.
   */
  readonly stderr?: 'ignore' | 'inherit';
}

/** A server that is reached over streamable HTTP. Redirects are refused. */
export interface HttpServerOptions extends McpServerSettings {
  readonly url: string;
  /** Sent with every request; a function is asked each time, for tokens that change. Never part of an event. */
  readonly headers?: HttpHeaders | (() => HttpHeaders | Promise<HttpHeaders>);
}

type HttpHeaders = Readonly<Record<string, string>>;

/** Options of {@link mcpServer}. */
export type McpServerOptions = StdioServerOptions | HttpServerOptions;

/** The options, checked, with every default filled in. */
export type ServerSpec = McpServerOptions & { readonly name: string; readonly limits: McpLimits };

const fn = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
);
const positive = z.custom<number>((value) => typeof value === 'number' && value > 0, 'must be above 0');
const texts = z.record(z.string(), z.string());
const bound = z.number().nonnegative();

const settings = {
  name: z
    .string()
    .refine(isServerName, 'must match [A-Za-z0-9_-]{1,32}, without __ or _ at its ends')
    .optional(),
  tools: z.array(z.string()).optional(),
  needsApproval: z.union([z.boolean(), fn], 'must be a boolean or a function').optional(),
  defer: z.enum(['never', 'always', 'auto']).optional(),
  timeoutMs: positive.optional(),
  maxResultBytes: z.int().positive().optional(),
  elicit: fn.optional(),
  sample: fn.optional(),
  onFault: fn.optional(),
  limits: z.partialRecord(z.enum(Object.keys(MCP_LIMITS) as (keyof McpLimits)[]), bound).optional(),
};

const stdioSchema = z.strictObject({
  ...settings,
  command: z.string().min(1),
  args: z.array(z.string()).optional(),
  cwd: z.string().optional(),
  env: texts.optional(),
  inheritEnv: z.array(z.string()).optional(),
  stderr: z.enum(['ignore', 'inherit']).optional(),
});

const httpSchema = z.strictObject({
  ...settings,
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((url) => !/^[^/]*\/\/[^/]*@/.test(url), 'must hold no user name or password: use headers'),
  headers: z.union([texts, fn], 'must be an object of texts, or a function').optional(),
});

/** @throws SwarmError 'invalid-definition' naming the field */
export function checkServerOptions(options: McpServerOptions): ServerSpec {
  const isHttp = typeof options === 'object' && options !== null && 'url' in options;
  const parsed = (isHttp ? httpSchema : stdioSchema).safeParse(options);
  if (!parsed.success) throw invalid(options, parsed.error.issues[0]);
  const name =
    options.name ??
    serverNameOf(
      'url' in options ? { url: options.url } : { command: [options.command, ...(options.args ?? [])] },
    );
  return Object.freeze({ ...options, name, limits: { ...MCP_LIMITS, ...options.limits } });
}

function invalid(options: unknown, issue: z.core.$ZodIssue | undefined): SwarmError {
  const given =
    typeof options === 'object' && options !== null && 'name' in options ? options.name : undefined;
  const who = typeof given === 'string' ? `mcpServer ${safeName(given)}` : 'mcpServer';
  // Never what was given: it may be a secret.
  const path = issue?.path.map(String).join('.') ?? '';
  const keys = issue?.code === 'unrecognized_keys' ? issue.keys.map((key) => safeName(key)).join(', ') : '';
  const complaint = keys === '' ? (issue?.message ?? 'these are no options') : `unknown field ${keys}`;
  return new SwarmError('invalid-definition', `${who}: ${path === '' ? '' : `${path}: `}${complaint}`);
}
