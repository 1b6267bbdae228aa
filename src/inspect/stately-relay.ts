import { once } from 'node:events';
import { createServer } from 'node:net';
import { SwarmError } from '../errors.ts';

/**
 * Starts the relay of the inspector's own package in this process. It has no way to end the connections it holds, so
 * it lives as long as the process does, and it listens on every interface.
 * @throws SwarmError 'invalid-inspector' where the port is taken
 */
export async function startStatelyRelay(port: number, opensBrowser: boolean): Promise<void> {
  // The relay cannot say that its port is taken: it would end the process.
  const probe = createServer().listen(port);
  await once(probe, 'listening').catch((error: unknown) => {
    const message = `port ${port} is taken or forbidden: give another one`;
    throw new SwarmError('invalid-inspector', message, { cause: error });
  });
  probe.close();
  await once(probe, 'close');
  const { createInspectorServer } = await import('@statelyai/inspect/server');
  createInspectorServer({ port, autoOpen: opensBrowser });
}
