import type { UserPart } from '../ledger/content.ts';
import type { FileData, FilePart, TextPart } from './language-model.ts';

type BinaryPart = Exclude<UserPart, { type: 'text' }>;

/** Parts of a user message as a provider takes them. What cannot be sent is named in text instead. */
export function lowerUserParts(parts: readonly UserPart[], withImages: boolean): (TextPart | FilePart)[] {
  return parts.map((part) => (part.type === 'text' ? textOf(part.text) : lowerFile(part, withImages)));
}

/** One image or file as a provider takes it, or a sentence that says it is missing. */
export function lowerFile(part: BinaryPart, withImages: boolean): TextPart | FilePart {
  if (part.type === 'image' && !withImages) return textOf(`[${nameOf(part)}: this model takes no images]`);
  const data = fileData(part.source);
  if (data === undefined) return textOf(`[${nameOf(part)}: not available]`);
  return {
    type: 'file',
    mediaType: part.mediaType,
    data,
    ...(part.type === 'file' && part.name !== undefined && { filename: part.name }),
  };
}

/** What a reader is told of an image or file that stands elsewhere. */
export function nameOf(part: BinaryPart): string {
  return part.type === 'file' && part.name !== undefined
    ? `file ${part.name} (${part.mediaType})`
    : `${part.type} (${part.mediaType})`;
}

/** Bytes or address of a stored file; `undefined` for one that was not read from the artifacts, or has no address. */
export function fileData(source: BinaryPart['source']): FileData | undefined {
  switch (source.type) {
    case 'base64':
      return { type: 'data', data: source.data };
    case 'artifact':
      return undefined;
    case 'url': {
      const inline = /^data:[^,]*;base64,(.*)$/s.exec(source.url)?.[1];
      if (inline !== undefined) return { type: 'data', data: inline };
      return URL.canParse(source.url) ? { type: 'url', url: new URL(source.url) } : undefined;
    }
  }
}

function textOf(text: string): TextPart {
  return { type: 'text', text };
}
