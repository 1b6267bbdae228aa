// The process that spawnScriptedServer starts: argv[2] is the URL of the module with the script.
import { SwarmError } from '../errors.ts';
import type { Script } from './script.ts';
import { type ScriptedServer, scriptedServer } from './scripted-server.ts';
import type { ServerAnswer, ServerQuestion } from './spawn-scripted-server.ts';

function tell(answer: ServerAnswer): void {
  process.send?.(answer);
}

async function loadScript(url: string): Promise<Script> {
  const module: object = await import(url);
  if ('script' in module && (typeof module.script === 'function' || typeof module.script === 'object')) {
    // What the module calls a script is taken for one; a wrong one shows at the first request.
    return module.script as Script;
  }
  throw new SwarmError('invalid-definition', `${url} exports no script`);
}

function answer(server: ScriptedServer, { id, ask }: ServerQuestion): void {
  try {
    if (ask === 'assert-played-out') server.assertPlayedOut();
    const requests = server.requests.map(({ ended: _, ...request }) => request);
    tell({ type: 'answer', id, requests: ask === 'requests' ? requests : [] });
  } catch (error) {
    tell({ type: 'complaint', id, message: messageOf(error) });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

try {
  const server = await scriptedServer({ script: await loadScript(process.argv[2] ?? '') });
  // The channel brings nothing but questions of the process that started this one.
  process.on('message', (question) => answer(server, question as ServerQuestion));
  process.once('disconnect', () => void server.close());
  tell({ type: 'listening', port: server.port });
} catch (error) {
  tell({ type: 'failed', message: messageOf(error) });
  process.disconnect?.();
}
