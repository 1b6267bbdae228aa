import type { JsonValue, UserPart } from '../ledger/content.ts';
import { safeData, safeName } from '../tools/safe-text.ts';
import type { ToolArtifacts } from '../tools/tool.ts';
import type { CallToolResult } from './connection.ts';

type Block = CallToolResult['content'][number];

/** Kinds of images that models take. */
const IMAGES = /^image\/(png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const MEDIA_TYPE = /^[a-z]+\/[a-z0-9][a-z0-9.+-]{0,99}$/;
const MAX_URI_CHARS = 500;

/**
 * What a server answered, as the value of a tool: a text where it is all text, JSON where it is nothing but structured
 * content, else parts. Images stay images; other bytes become artifacts that the text names. An answer that says it is
 * an error is `{ error }`. Every text is made fit to be shown.
 */
export async function resultValue(result: CallToolResult, artifacts: ToolArtifacts): Promise<unknown> {
  const { content = [], structuredContent, isError } = result;
  const parts = await Promise.all(content.map((block) => partOf(block, artifacts)));
  const structured = structuredText(structuredContent, parts);
  const all = structured === undefined ? parts : [...parts, { type: 'text', text: structured } as const];
  const text = all.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  if (isError === true) return { error: text.trim() === '' ? 'The tool failed without saying why.' : text };
  // It was parsed from JSON.
  if (content.length === 0 && structuredContent !== undefined) return structuredContent as JsonValue;
  return all.every((part) => part.type === 'text') ? text : { type: 'content', parts: all };
}

/** Structured content, unless texts say the same, as servers do for clients that know of texts only. */
function structuredText(value: unknown, parts: readonly UserPart[]): string | undefined {
  if (value === undefined) return undefined;
  const json = JSON.stringify(value);
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const isTold = texts.some((text) => sameJson(text, json)) || holdsOnly(value, texts);
  return isTold ? undefined : safeData(json);
}

function sameJson(text: string, json: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === json;
  } catch {
    // Prose.
    return false;
  }
}

/** True for an object whose fields are among the texts: `{ content: text }`. */
function holdsOnly(value: unknown, texts: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fields: readonly unknown[] = Object.values(value);
  return fields.every((field) => typeof field === 'string' && texts.includes(safeData(field)));
}

async function partOf(block: Block, artifacts: ToolArtifacts): Promise<UserPart> {
  switch (block.type) {
    case 'text':
      return textPart(safeData(block.text));
    case 'image':
      if (IMAGES.test(block.mimeType) && BASE64.test(block.data)) {
        const { mimeType: mediaType, data } = block;
        return { type: 'image', mediaType, source: { type: 'base64', data } };
      }
      return kept('image', block.data, block.mimeType, artifacts);
    case 'audio':
      return kept('audio', block.data, block.mimeType, artifacts);
    case 'resource': {
      const { resource } = block;
      const about = `resource ${safeName(resource.uri, MAX_URI_CHARS)}`;
      if ('text' in resource) return textPart(`[${about}]\n${safeData(resource.text)}`);
      return kept(about, resource.blob, resource.mimeType, artifacts);
    }
    case 'resource_link': {
      const { uri, name, description, mimeType } = block;
      const facts = [name, mimeType, description].flatMap((one) =>
        one === undefined ? [] : [safeName(one, MAX_URI_CHARS)],
      );
      return textPart(`[resource link ${safeName(uri, MAX_URI_CHARS)}: ${facts.join(', ')}]`);
    }
  }
}

/** Bytes that no model is shown: kept, and told of. */
async function kept(
  what: string,
  base64: string,
  mimeType: string | undefined,
  artifacts: ToolArtifacts,
): Promise<UserPart> {
  const mediaType =
    mimeType !== undefined && MEDIA_TYPE.test(mimeType) ? mimeType : 'application/octet-stream';
  const bytes = Buffer.from(base64, 'base64');
  const size = `${mediaType}, ${bytes.byteLength} bytes`;
  try {
    const { sha256 } = await artifacts.put(bytes, mediaType);
    return textPart(`[${what}: ${size}, kept as artifact ${sha256}]`);
  } catch {
    // Too large, or a store that fails: the rest of the answer is no worse for it.
    return textPart(`[${what}: ${size}, not kept]`);
  }
}

function textPart(text: string): UserPart {
  return { type: 'text', text };
}
