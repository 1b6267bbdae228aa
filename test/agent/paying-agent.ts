import { z } from 'zod';
import { type Agent, defineAgent } from '../../src/agent/define-agent.ts';
import { openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { ToolContext } from '../../src/tools/tool.ts';

/** An agent with one tool that must never run twice. */
export function payingAgent(baseURL: string, pay: (ctx: ToolContext) => unknown): Agent {
  return defineAgent({
    name: 'payer',
    instructions: 'Pay what is owed.',
    model: openaiCompatible({ baseURL, model: 'scripted' }),
    tools: [
      defineTool({
        name: 'pay',
        description: 'Pays.',
        inputSchema: z.object({ amount: z.number() }),
        execute: (_, ctx) => pay(ctx),
      }),
    ],
  });
}
