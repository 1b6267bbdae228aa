// A process with a ledger on a server: `ledger-on-nats.ts URL NS LEASE_MS hold|append SESSION`. `hold` keeps the session
// after one record, `append` appends for ever; each says on stdout what was acknowledged.
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { commit, note, rootSession } from '../../src/testing/ledger-samples.ts';

const [, , connection = '', ns = '', leaseMs = '', mode = '', session = ''] = process.argv;
const ledger = await jetstreamLedger({ connection, ns, leaseMs: Number(leaseMs) });
const writer = await ledger.acquire(rootSession(session));
process.on('SIGTERM', () => void ledger.close());
do {
  const { head } = await commit(writer, note(`${session} ${writer.head.seq + 1}`));
  process.stdout.write(`stored ${head.seq}\n`);
} while (mode === 'append');
