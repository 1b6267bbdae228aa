// Run as a process of its own by faulty-ledger.test.ts: it dies in the middle of an append.
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';

const ledger = faultyLedger(memoryLedger(), [
  { at: 'append', record: 'session.closed', when: 'after', action: { type: 'crash' } },
]);
const writer = await ledger.acquire({ session: 's-a', root: 's-a', agent: 'a' });
process.on('exit', () => process.stdout.write('left in peace'));
process.stdout.write('alive;');
await writer.append(0, [{ type: 'session.closed', data: { reason: 'done' } }]);
process.stdout.write('answered;');
