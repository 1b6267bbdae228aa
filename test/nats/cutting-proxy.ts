import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Stands between a client and its server, and can lose an answer. */
export interface CuttingProxy {
  readonly url: string;
  /**
   * From now on: what contains `text` still reaches the server, whatever comes back is lost, and so is the connection
   * when `lost` resolves. The next connection is a good one.
   */
  loseAnswerTo(text: string): { readonly lost: Promise<void> };
  /** As `loseAnswerTo`, and nothing that is sent after the chunk with `text` reaches the server. */
  cutAt(text: string): { readonly lost: Promise<void> };
}

/** Starts a {@link CuttingProxy} before the server on `port`; it goes with the test. */
export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cut: { readonly text: string; readonly atOnce: boolean; readonly lost: () => void } | undefined;
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let isDeaf = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (data) => {
      upstream.write(data);
      if (cut === undefined || !data.includes(cut.text)) return;
      isDeaf = true;
      const { lost, atOnce } = cut;
      cut = undefined;
      if (atOnce) {
        upstream.end();
        client.destroy();
        lost();
        return;
      }
      // The first bytes back are the answer: by then the server has done what it was asked.
      upstream.once('data', () => {
        client.destroy();
        lost();
      });
    });
    upstream.on('data', (data) => {
      if (!isDeaf) client.write(data);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const arm = (text: string, atOnce: boolean) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    cut = { text, atOnce, lost: resolve };
    return { lost: promise };
  };
  // A server that listens on a port has an address of that kind.
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `nats://127.0.0.1:${own}`,
    loseAnswerTo: (text) => arm(text, false),
    cutAt: (text) => arm(text, true),
  };
}
