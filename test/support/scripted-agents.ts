import { onTestFinished } from 'vitest';
import { type Agent, type AgentDefinition, defineAgent } from '../../src/agent/define-agent.ts';
import { openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import type { Script } from '../../src/testing/script.ts';
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { type ScriptedServer, scriptedServer } from '../../src/testing/scripted-server.ts';

type More = Partial<AgentDefinition<unknown>>;

/** An agent whose model answers over HTTP what the script says. The server goes with the test. */
export async function servedAgent(
  script: Script,
  more: More = {},
): Promise<{ readonly server: ScriptedServer; readonly agent: Agent }> {
  const server = await scriptedServer({ script });
  onTestFinished(() => server.close());
  const model = openaiCompatible({ baseURL: server.baseURL, model: 'scripted' });
  return { server, agent: defineAgent({ name: 'worker', instructions: 'Work.', model, ...more }) };
}

/** An agent whose model answers in this process, where HTTP would add nothing. */
export function scriptedAgent(
  script: Script,
  more: More = {},
): { readonly model: ScriptedModel; readonly agent: Agent } {
  const model = scriptedModel({ script });
  return { model, agent: defineAgent({ name: 'worker', instructions: 'Work.', model, ...more }) };
}
