import { type ToolOutput, toolOutputSchema, type UserPart } from '../ledger/content.ts';
import { isRecord, toJsonValue } from './provider-json.ts';

/**
 * What a tool of the AI SDK wants its model to see, as content holds it. A part that only its provider could resolve
 * is named in text instead. @throws what is no output of the SDK
 */
export function liftToolOutput(output: unknown): ToolOutput {
  return toolOutputSchema.parse(isRecord(output) ? lift(output) : output);
}

function lift(output: { readonly [key: string]: unknown }): unknown {
  const { type, value, reason } = output;
  switch (type) {
    case 'text':
      return { type: 'text', text: value };
    case 'json':
      return { type: 'json', value: toJsonValue(value) ?? null };
    case 'error-text':
      return { type: 'error', text: value };
    case 'error-json':
      return { type: 'error', text: JSON.stringify(toJsonValue(value) ?? null) };
    case 'execution-denied':
      return { type: 'error', text: typeof reason === 'string' ? `denied: ${reason}` : 'denied' };
    case 'content':
      return { type: 'content', parts: Array.isArray(value) ? value.map(liftPart) : value };
    default:
      return output;
  }
}

function liftPart(part: unknown): UserPart {
  if (!isRecord(part)) return left('a part');
  const { type, text, data, url } = part;
  if (type === 'text' && typeof text === 'string') return { type: 'text', text };
  if (type === 'file') return liftFile(part, sourceOf(data));
  if (type === 'file-data' || type === 'image-data') return liftFile(part, sourceOf({ type: 'data', data }));
  if (type === 'file-url' || type === 'image-url') return liftFile(part, sourceOf({ type: 'url', url }));
  return left(String(type));
}

type Source = Extract<UserPart, { type: 'image' }>['source'];

function liftFile(part: { readonly [key: string]: unknown }, source: Source | string | undefined): UserPart {
  if (typeof source === 'string') return { type: 'text', text: source };
  if (source === undefined) return left('a file');
  const { type, mediaType, filename } = part;
  const isImage = String(type).startsWith('image') || /^image(\/|$)/.test(String(mediaType));
  const media = typeof mediaType === 'string' ? mediaType : isImage ? 'image/*' : 'application/octet-stream';
  if (isImage) return { type: 'image', mediaType: media, source };
  return {
    type: 'file',
    mediaType: media,
    source,
    ...(typeof filename === 'string' ? { name: filename } : {}),
  };
}

/** Bytes or address of a file, or the text it is. What lies with a provider cannot be had. */
function sourceOf(data: unknown): Source | string | undefined {
  if (!isRecord(data)) return undefined;
  if (data['type'] === 'text' && typeof data['text'] === 'string') return data['text'];
  if (data['type'] === 'url') return { type: 'url', url: String(data['url']) };
  if (data['type'] !== 'data') return undefined;
  const { data: bytes } = data;
  if (typeof bytes === 'string') return { type: 'base64', data: bytes };
  if (bytes instanceof ArrayBuffer) return { type: 'base64', data: Buffer.from(bytes).toString('base64') };
  if (!ArrayBuffer.isView(bytes)) return undefined;
  const { buffer, byteOffset, byteLength } = bytes;
  return { type: 'base64', data: Buffer.from(buffer, byteOffset, byteLength).toString('base64') };
}

function left(what: string): UserPart {
  return { type: 'text', text: `[${what}: not available here]` };
}
