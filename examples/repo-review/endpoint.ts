import { type Model, openaiCompatible } from 'swarmwright';
import { spawnScriptedServer } from 'swarmwright/testing';

/** A model to review with, and where it is. */
export interface Endpoint extends AsyncDisposable {
  readonly model: Model;
  /** For the first line of the output. */
  readonly description: string;
}

/** The endpoint that the environment names, or a stand-in in a process of its own. */
export async function openEndpoint(env: NodeJS.ProcessEnv): Promise<Endpoint> {
  const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey, SWARMWRIGHT_MODEL: name } = env;
  if (baseURL && name) {
    const model = openaiCompatible({ baseURL, model: name, ...(apiKey ? { apiKey } : {}) });
    return {
      model,
      description: `Model: ${name} at ${new URL(baseURL).host}.`,
      [Symbol.asyncDispose]: async () => {},
    };
  }
  if (baseURL || name) {
    const [given, missing] = baseURL
      ? ['OPENAI_BASE_URL', 'SWARMWRIGHT_MODEL']
      : ['SWARMWRIGHT_MODEL', 'OPENAI_BASE_URL'];
    throw new Error(`${given} is set and ${missing} is not: a model needs both`);
  }
  const server = await spawnScriptedServer(new URL('stand-in.ts', import.meta.url));
  return {
    model: openaiCompatible({ baseURL: server.baseURL, model: 'stand-in' }),
    description:
      'Model: a scripted stand-in in a process of its own, because OPENAI_BASE_URL and SWARMWRIGHT_MODEL are not set. Everything else is real.',
    [Symbol.asyncDispose]: () => server.close(),
  };
}
