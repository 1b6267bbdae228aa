import { isRecord } from './provider-json.ts';
import { type RetryHint, readDuration } from './retry-after.ts';

/** What a provider's error body says, whatever its shape. */
export interface ErrorPayload {
  readonly message: string;
  /** Code, type and status words, lower case: what machines wrote rather than people. */
  readonly words: readonly string[];
  readonly code?: string;
  /** HTTP status, where the body names one. */
  readonly status?: number;
  readonly retry?: RetryHint;
}

interface Draft {
  messages: string[];
  words: Set<string>;
  code?: string;
  status?: number;
  retry?: RetryHint;
}

/** Nested deeper, an error body says nothing that the levels above did not. */
const MAX_DEPTH = 6;
const MAX_MESSAGES = 4;
const MESSAGE_KEYS = [
  'message',
  'detail',
  'msg',
  'error_msg',
  'error_message',
  'errorMessage',
  'description',
];
const WORD_KEYS = ['code', 'type', 'status', 'reason', 'error_type', 'object'];
const NESTED_KEYS = ['error', 'errors', 'innererror', 'metadata', 'raw', 'data', 'details'];

/**
 * Reads an error out of the shapes that are about: `{error: {...}}`, `[{error: ...}]`, `{error: "text"}`, flat
 * `{message, type, code}`, `{detail: "text" | [{msg, loc}]}`, text, and JSON inside the text of any of them.
 * What a body echoes of the request (`input`) is never read.
 */
export function readErrorPayload(value: unknown): ErrorPayload {
  const draft: Draft = { messages: [], words: new Set() };
  collect(value, draft, 0);
  return {
    message: [...new Set(draft.messages)].slice(0, MAX_MESSAGES).join('; '),
    words: [...draft.words],
    ...(draft.code !== undefined && { code: draft.code }),
    ...(draft.status !== undefined && { status: draft.status }),
    ...(draft.retry !== undefined && { retry: draft.retry }),
  };
}

/** True for a value that is meant as an error: a chunk of a stream that is not one is merely malformed. */
export function looksLikeError(value: unknown): boolean {
  if (!isRecord(value)) return false;
  if (value['error'] !== undefined && value['error'] !== null && value['error'] !== false) return true;
  return value['object'] === 'error' || value['type'] === 'error' || typeof value['detail'] === 'string';
}

function collect(value: unknown, draft: Draft, depth: number): void {
  if (depth > MAX_DEPTH || draft.messages.length > MAX_MESSAGES) return;
  if (typeof value === 'string') collectText(value, draft, depth);
  else if (Array.isArray(value)) for (const item of value.slice(0, 16)) collect(item, draft, depth + 1);
  else if (isRecord(value)) collectRecord(value, draft, depth);
}

function collectText(text: string, draft: Draft, depth: number): void {
  const trimmed = text.trim();
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) {
    const parsed = parseJson(trimmed);
    if (parsed !== undefined) {
      collect(parsed, draft, depth + 1);
      return;
    }
  }
  // A page of a proxy is no message.
  if (trimmed !== '' && !/^<(?:!doctype|html|\?xml|head|body|center)/i.test(trimmed))
    draft.messages.push(trimmed);
}

function collectRecord(record: { readonly [key: string]: unknown }, draft: Draft, depth: number): void {
  const at = record['loc'];
  const said = draft.messages.length;
  for (const key of MESSAGE_KEYS) collect(record[key], draft, depth + 1);
  // Validators name the field apart from the complaint.
  if (Array.isArray(at) && draft.messages.length > said) {
    draft.messages[said] = `${draft.messages[said]} (${at.map(String).join('.')})`;
  }
  for (const key of WORD_KEYS) collectWord(record[key], draft);
  for (const key of ['statusCode', 'status_code', 'status', 'code']) {
    const status = Number(record[key]);
    if (draft.status === undefined && status >= 300 && status < 600) draft.status = status;
  }
  const wait = record['retryDelay'];
  if (typeof wait === 'string') draft.retry ??= readDuration(wait);
  for (const key of NESTED_KEYS) {
    const nested = record[key];
    // Text under `raw` and `error` is the error of who stands behind; text under the others is not.
    if (typeof nested !== 'string' || key === 'raw' || key === 'error') collect(nested, draft, depth + 1);
  }
}

function collectWord(value: unknown, draft: Draft): void {
  if (typeof value !== 'string' && typeof value !== 'number') return;
  const word = String(value);
  if (!/^[\w.:/-]{1,64}$/.test(word)) return;
  draft.words.add(word.toLowerCase());
  if (word !== 'error') draft.code ??= word;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON after all: the text itself is the message.
    return undefined;
  }
}
