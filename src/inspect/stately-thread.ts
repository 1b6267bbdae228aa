import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { STATELY_LIMITS } from '../limits.ts';
import { createMessageMaker, type ShownMachines, type Telling } from './stately-messages.ts';

/** What the thread is started with. */
export interface StatelyThreadData {
  readonly url: string;
  readonly machines: ShownMachines;
}

/** `connection` counts the connections of the thread: what was meant for an earlier one is not sent. */
export type ToStatelyThread =
  | { readonly type: 'batch'; readonly connection: number; readonly tellings: readonly Telling[] }
  | { readonly type: 'finish' };

/** One `taken` follows each batch: the socket has room for more. */
export type FromStatelyThread =
  | { readonly type: 'opened'; readonly connection: number }
  | { readonly type: 'lost'; readonly connection: number }
  /** Nobody listens at the address; there will be another try. */
  | { readonly type: 'refused' }
  | { readonly type: 'taken'; readonly sent: number };

// A socket of Node keeps its process alive. In a thread that the process does not wait for, it cannot.

// The shape is given by who starts the thread.
const { url, machines } = workerData as StatelyThreadData;
let socket: WebSocket | undefined;
let connection = 0;
let delayMs: number = STATELY_LIMITS.reconnectMs;
let isFinished = false;

const maker = createMessageMaker(machines, (message) => {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
});

parentPort?.on('message', (message: ToStatelyThread) => {
  if (message.type === 'finish') finish();
  else void take(message);
});
connect();

function connect(): void {
  const opening = new WebSocket(url);
  let wasOpen = false;
  opening.onopen = () => {
    wasOpen = true;
    socket = opening;
    connection += 1;
    delayMs = STATELY_LIMITS.reconnectMs;
    tell({ type: 'opened', connection });
  };
  opening.onclose = () => {
    socket = undefined;
    tell(wasOpen ? { type: 'lost', connection } : { type: 'refused' });
    if (isFinished) process.exit();
    setTimeout(connect, delayMs);
    delayMs = Math.min(2 * delayMs, STATELY_LIMITS.maxReconnectMs);
  };
  // An address that takes connections and never answers is as good as none.
  setTimeout(() => {
    if (!wasOpen) opening.close();
  }, STATELY_LIMITS.connectMs);
  // A failure is followed by the close, which says enough.
  opening.onerror = () => undefined;
}

async function take({ connection: meant, tellings }: Extract<ToStatelyThread, { type: 'batch' }>) {
  const sent = meant === connection ? await maker.make(tellings) : 0;
  while ((socket?.bufferedAmount ?? 0) > STATELY_LIMITS.maxBufferedBytes) await pause(10);
  tell({ type: 'taken', sent });
}

/** Ends when what was sent is on its way; this also ends the thread. */
function finish(): void {
  isFinished = true;
  if (socket === undefined) process.exit();
  socket.close(1000);
}

function tell(message: FromStatelyThread): void {
  parentPort?.postMessage(message);
}
