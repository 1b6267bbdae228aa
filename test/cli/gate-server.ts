import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGate, type Gate } from 'swarmwright/testing';

/** Gates that tools of another process wait at. */
export interface GateServer extends AsyncDisposable {
  readonly url: string;
  /** The gate of a name, made when it is first named by either side. */
  gate(name: string): Gate;
}

export async function startGateServer(): Promise<GateServer> {
  const gates = new Map<string, Gate>();
  const gate = (name: string): Gate => {
    const known = gates.get(name) ?? createGate();
    gates.set(name, known);
    return known;
  };
  const server = createServer((request, response) => {
    const name = (request.url ?? '').slice(1);
    void gate(name)
      .pass()
      .then(() => response.end(`passed ${name}`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on a TCP port has an address of this form.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    gate,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
