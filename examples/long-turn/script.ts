// What the stand-in of examples/long-turn.ts says. It remembers nothing: it goes by what each request still holds.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';

const CHAPTERS = 24;

/** Words of all chapters so far, as the requests carry them on: in notes, or in the summary that took their place. */
function totalIn(text: string): { readonly chapter: number; readonly words: number } {
  const notes = [...text.matchAll(/chapter (\d+) read, (\d+) words so far/g)];
  const last = notes.at(-1);
  return { chapter: Number(last?.[1] ?? 0), words: Number(last?.[2] ?? 0) };
}

function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => /\w/.test(word)).length;
}

export function script({ messages, toolNames, lastText }: ParsedRequest): Reply {
  if (toolNames.length === 0) {
    const { chapter, words } = totalIn(lastText);
    return reply().text(`Done so far: chapter ${chapter} read, ${words} words so far.`).usage(4_000, 20);
  }
  const said = messages.filter(({ role }) => role !== 'tool').map(({ text }) => text);
  const { chapter, words } = totalIn(said.join('\n'));
  const isResult = messages.at(-1)?.role === 'tool';
  const total = isResult ? words + wordsIn(lastText) : words;
  const read = isResult ? chapter + 1 : chapter;
  if (read === CHAPTERS) return reply().text(`All ${CHAPTERS} chapters together have ${total} words.`);
  const note = read === 0 ? 'I begin.' : `chapter ${read} read, ${total} words so far`;
  return reply()
    .text(note)
    .call('read_chapter', { number: read + 1 });
}
