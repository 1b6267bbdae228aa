import { createWebSocketReceiver } from '@statelyai/inspect';
import { createInspectorServer } from '@statelyai/inspect/server';

// The official relay on a given port and a receiver of the same package that is subscribed to it: in a process of their
// own, as neither has a way to end its connections.
const port = Number(process.argv[2]);
createInspectorServer({ port, autoOpen: false });
while (!(await isListening())) await new Promise((resolve) => setTimeout(resolve, 5));
createWebSocketReceiver({ server: `ws://localhost:${port}` }).subscribe((message) => {
  console.log(JSON.stringify(message));
});
console.log('listening');

function isListening(): Promise<boolean> {
  return fetch(`http://localhost:${port}`).then(
    ({ ok }) => ok,
    () => false,
  );
}
