import { z } from 'zod';
import type { JsonValue } from '../ledger/content.ts';
import { type PairedMessage, pairingViolations, toolNameViolations } from './pairing-validator.ts';
import type { ParsedMessage, ParsedRequest } from './script.ts';

const partSchema = z.looseObject({ type: z.string(), text: z.string().optional() });
const contentSchema = z.union([z.string(), z.array(partSchema), z.null()]).optional();

const messageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: contentSchema,
  tool_call_id: z.string().optional(),
  tool_calls: z
    .array(
      z.looseObject({
        id: z.string(),
        type: z.literal('function'),
        function: z.looseObject({ name: z.string(), arguments: z.string() }),
      }),
    )
    .optional(),
});

const bodySchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  messages: z.array(messageSchema).min(1),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).optional(),
  tool_choice: z
    .union([z.string(), z.looseObject({ function: z.looseObject({ name: z.string() }) })])
    .optional(),
});

type WireMessage = z.infer<typeof messageSchema>;

/** A request body read: what scripts see of it, and what is wrong with it. */
export interface ReadBody {
  readonly request: ParsedRequest;
  readonly stream: boolean;
  /** What a strict provider would refuse the request for. */
  readonly violations: readonly string[];
}

/** Reads the JSON body of a chat-completions request; a body of another form gives its faults as violations. */
export function readBody(body: unknown, ordinal: number): ReadBody {
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) return unreadable(parsed.error, ordinal);
  const { model, messages, tools = [], tool_choice: choice = 'auto', stream = false } = parsed.data;
  const spoken = messages.filter(({ role }) => role !== 'system' && role !== 'developer');
  const toolNames = tools.map((tool) => tool.function.name);
  return {
    stream,
    violations: [
      ...pairingViolations(messages.map(pairedOf)),
      ...toolNameViolations(toolNames),
      ...messages.flatMap(emptyAnswer),
    ],
    request: {
      ordinal,
      model,
      system: messages
        .filter((message) => !spoken.includes(message))
        .map(textOf)
        .join('\n'),
      messages: spoken.map(parsedOf),
      toolNames,
      toolChoice: typeof choice === 'string' ? choice : choice.function.name,
      lastText: textOf(messages.at(-1)),
    },
  };
}

function unreadable(error: z.ZodError, ordinal: number): ReadBody {
  const violations = error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  const request = {
    ordinal,
    model: '',
    system: '',
    messages: [],
    toolNames: [],
    toolChoice: 'auto',
    lastText: '',
  };
  return { request, stream: true, violations };
}

function pairedOf(message: WireMessage): PairedMessage {
  const { role, tool_calls: calls = [], tool_call_id: answered } = message;
  return {
    role,
    calls: calls.map(({ id, function: { name, arguments: args } }) => {
      const complaint = isJsonObject(args) ? undefined : 'its arguments are not the text of a JSON object';
      return { id, name, ...(complaint === undefined ? {} : { complaint }) };
    }),
    ...(role === 'tool' ? { answers: [answered ?? ''] } : {}),
  };
}

/** Providers refuse an assistant message that says nothing at all. */
function emptyAnswer(message: WireMessage, at: number): readonly string[] {
  const { role, content, tool_calls: calls = [] } = message;
  const reasoned = 'reasoning_content' in message || 'reasoning' in message;
  const isEmpty = role === 'assistant' && (content ?? null) === null && calls.length === 0 && !reasoned;
  return isEmpty ? [`message ${at}: an assistant message with neither content nor calls`] : [];
}

function parsedOf(message: WireMessage): ParsedMessage {
  const { role, tool_calls: calls = [], tool_call_id: callId } = message;
  return {
    role: role === 'assistant' || role === 'tool' ? role : 'user',
    text: textOf(message),
    calls: calls.map(({ id, function: { name, arguments: args } }) => ({ id, name, args: jsonOr(args) })),
    ...(callId === undefined ? {} : { callId }),
  };
}

function textOf(message: WireMessage | undefined): string {
  const content = message?.content ?? '';
  if (typeof content === 'string') return content;
  return content.map(({ type, text }) => text ?? `[${type}]`).join('');
}

/** Arguments as a value; text that is no JSON stays text. */
function jsonOr(text: string): JsonValue {
  try {
    // What JSON.parse returns is JSON.
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

function isJsonObject(text: string): boolean {
  const value = jsonOr(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
