import { z } from 'zod';

// The work of the swarm measurement, the same for everyone who does it. The provider answers by it: `sse-script.ts`.

export const MODEL = 'bench';
export const API_KEY = 'none';

/** The tool of a worker: it looks at its part, and then says whether it is fine. */
export const LOOK = {
  name: 'look_at',
  description: 'Looks at a part.',
  inputSchema: z.object({ part: z.string().describe('Name of the part.') }),
  execute: async ({ part }: { readonly part: string }): Promise<string> => `${part}: 21 lines`,
};

export const WORKER = {
  name: 'worker',
  description: 'Knows about one part.',
  instructions: 'Look at the part that you are given, then say whether it is fine.',
};

/** The lead asks a worker for each of eight parts in one step, then sums up. */
export const LEAD = {
  name: 'lead',
  instructions: 'Ask a worker about each part, then sum up.',
  prompt: 'Are all parts fine?',
};

/** How a lead's tool for its worker is written, where a runtime does not write it. */
export const ASK = {
  name: 'ask_worker',
  description: `Asks worker. ${WORKER.description}`,
  inputSchema: z.object({ task: z.string().describe('All that the worker has to know.') }),
};

/** `count` parts; each is the whole input of a worker. */
export function partsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `part ${i}`);
}

/** What a join makes of the texts of its branches. */
export function joined(texts: readonly string[]): string {
  return texts.join('\n');
}

/** The two shapes of a swarm that are measured, by what they are called in tables. */
export const SHAPES = ['supervisor, 8 children', 'graph, 16 branches'] as const;

/** A name of {@link SHAPES}. */
export type Shape = (typeof SHAPES)[number];

export const BRANCHES = 16;

/** One way to run both shapes. Each gives the text that it ends with. */
export interface SwarmContender extends AsyncDisposable {
  /** A lead with eight children at the same time: the lead's last text. */
  supervise(): Promise<string>;
  /** A worker a part, all at the same time, and their texts joined, in the order of the parts. */
  fanOut(parts: readonly string[]): Promise<string>;
}

/** Throws unless every part was reported on, in its place. */
export function checkFanOut(text: string, parts: readonly string[]): void {
  const lines = text.split('\n');
  const isDone = parts.every((part, i) => lines[i]?.trimEnd().endsWith(`${part} is fine.`));
  if (lines.length === parts.length && isDone) return;
  throw new Error(`a graph of ${parts.length} parts ended with ${JSON.stringify(text.slice(-500))}`);
}

/** Runs a shape once and holds it to its outcome: a contender that skipped a child would only look fast. */
export async function checkedRun(contender: SwarmContender, shape: Shape): Promise<void> {
  if (shape === 'graph, 16 branches') {
    const parts = partsOf(BRANCHES);
    checkFanOut(await contender.fanOut(parts), parts);
    return;
  }
  const text = await contender.supervise();
  if (!text.trimEnd().endsWith('heard 8 of 8')) throw new Error(`a lead ended with ${JSON.stringify(text)}`);
}
