// What the workers of examples/worker.ts run, and whoever gives them work knows by name.
import { readdir, readFile } from 'node:fs/promises';
import { defineAgent, defineTool, openaiCompatible } from 'swarmwright';
import { z } from 'zod';

const root = new URL('../../', import.meta.url);

/** The agents of one process. `told` hears of every tool that is entered there. */
export function agentsOn(baseURL: string, told: (what: string) => void) {
  const modelOf = (model: string) => openaiCompatible({ baseURL, model });
  const listFolder = defineTool({
    name: 'list_folder',
    description: 'Lists the files of a folder.',
    inputSchema: z.object({ folder: z.enum(['src', 'test', 'docs']) }),
    async execute({ folder }) {
      told(`lists ${folder}`);
      const names = await readdir(new URL(`${folder}/`, root));
      return `${folder} holds ${names.length} entries`;
    },
  });
  const countLines = defineTool({
    name: 'count_lines',
    description: 'Counts the lines of a file.',
    inputSchema: z.object({ file: z.enum(['README.md', 'CHANGELOG.md']) }),
    async execute({ file }) {
      told(`counts ${file}`);
      const text = await readFile(new URL(file, root), 'utf8');
      return `${file} has ${text.split('\n').length} lines`;
    },
  });
  const surveyor = defineAgent({
    name: 'surveyor',
    description: 'Knows the folders of the project.',
    instructions: 'You look at folders and say what is in them.',
    model: modelOf('surveyor'),
    tools: [listFolder],
  });
  const reader = defineAgent({
    name: 'reader',
    description: 'Knows the documents of the project.',
    instructions: 'You look at documents and say how long they are.',
    model: modelOf('reader'),
    tools: [countLines],
  });
  const lead = defineAgent({
    name: 'lead',
    instructions: 'You ask others and merge what they find.',
    model: modelOf('lead'),
    agents: [surveyor, reader],
  });
  return { lead, surveyor, reader };
}
