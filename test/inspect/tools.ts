import { defineTool } from 'swarmwright';
import type { Gate } from 'swarmwright/testing';
import { z } from 'zod';

/** A tool that waits at a gate. */
export function gatedTool(name: string, gate: Gate) {
  return defineTool({
    name,
    description: 'Waits at a gate.',
    inputSchema: z.object({}),
    async execute(_, { signal }) {
      await gate.pass(signal);
      return 'passed';
    },
  });
}

/** A tool that asks a person, and notes that it ran. */
export function askingTool(name: string, ran: string[]) {
  return defineTool({
    name,
    description: 'Asks first.',
    inputSchema: z.object({ path: z.string() }),
    needsApproval: true,
    execute({ path }) {
      ran.push(path);
      return `did ${path}`;
    },
  });
}
