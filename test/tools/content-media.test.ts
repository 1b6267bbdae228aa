import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ToolOutput, UserPart } from '../../src/ledger/content.ts';
import { storeMedia } from '../../src/tools/content-media.ts';

const bytes = Buffer.alloc(9_000, 7);
const image = (data: string): UserPart => ({
  type: 'image',
  mediaType: 'image/png',
  source: { type: 'base64', data },
});

async function stored(output: ToolOutput): Promise<{ output: ToolOutput; kept: Buffer[] }> {
  const kept: Buffer[] = [];
  const result = await storeMedia(output, async (data, mediaType) => {
    kept.push(Buffer.from(data));
    return { sha256: createHash('sha256').update(data).digest('hex'), size: data.length, mediaType };
  });
  return { output: result, kept };
}

describe('storeMedia', () => {
  it('moves large images and files into artifacts, keeping order and text', async () => {
    const file: UserPart = {
      type: 'file',
      name: 'a.bin',
      mediaType: 'application/x-bin',
      source: { type: 'base64', data: bytes.toString('base64') },
    };
    const text = { type: 'text', text: 'See:' } as const;
    const { output, kept } = await stored({
      type: 'content',
      parts: [text, image(bytes.toString('base64')), file],
    });
    expect(kept).toEqual([bytes, bytes]);
    expect(output).toMatchObject({
      type: 'content',
      parts: [
        text,
        {
          type: 'image',
          mediaType: 'image/png',
          source: { type: 'artifact', ref: { size: 9_000, mediaType: 'image/png' } },
        },
        {
          type: 'file',
          name: 'a.bin',
          source: { type: 'artifact', ref: { mediaType: 'application/x-bin' } },
        },
      ],
    });
  });

  it.each<ToolOutput>([
    { type: 'text', text: 'x'.repeat(10_000) },
    { type: 'json', value: { a: 1 } },
    { type: 'content', parts: [image('aaaa')] },
    {
      type: 'content',
      parts: [
        {
          type: 'image',
          mediaType: 'image/png',
          source: { type: 'url', url: `https://e.org/${'x'.repeat(9_000)}` },
        },
      ],
    },
  ])('leaves an output without large data alone', async (output) => {
    const { output: same, kept } = await stored(output);
    expect(same).toBe(output);
    expect(kept).toEqual([]);
  });

  it('passes on that an artifact could not be kept', async () => {
    const output: ToolOutput = { type: 'content', parts: [image(bytes.toString('base64'))] };
    await expect(storeMedia(output, () => Promise.reject(new TypeError('full')))).rejects.toThrow('full');
  });
});
