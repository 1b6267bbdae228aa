// A swarm in a process that kills itself: `killed-swarm.ts <ledger path> <log of effects> <session> <nth append>
// <before|after>`. Without an nth append it runs to its end.
import { appendFileSync } from 'node:fs';
import { createRuntime } from '../../src/index.ts';
import type { AppendResult, Ledger } from '../../src/ledger/ledger.ts';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { portOf } from '../support/edited-ledger.ts';
import { swarmOfFive } from '../support/swarm-of-five.ts';

const [path = '', log = '', sessionId = '', nth = '', when = ''] = process.argv.slice(2);
const killAt = nth === '' ? Number.POSITIVE_INFINITY : Number(nth);
let appends = 0;

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

async function counted(append: () => Promise<AppendResult>): Promise<AppendResult> {
  appends += 1;
  const isLast = appends >= killAt;
  if (isLast && when === 'before') die();
  const result = await append();
  if (isLast) die();
  return result;
}

async function killing(ledger: Ledger): Promise<Ledger> {
  const port = portOf(ledger);
  return {
    ...port,
    async acquire(identity) {
      const writer = await port.acquire(identity);
      return {
        identity: writer.identity,
        epoch: writer.epoch,
        get head() {
          return writer.head;
        },
        lost: writer.lost,
        append: (expectedSeq, batch) => counted(() => writer.append(expectedSeq, batch)),
        appendLast: (expectedSeq, batch) => counted(() => writer.appendLast(expectedSeq, batch)),
        release: () => writer.release(),
        [Symbol.asyncDispose]: () => writer.release(),
      };
    },
  };
}

const runtime = createRuntime({ ledger: killing(await sqliteLedger({ path })) });
const lead = swarmOfFive((id) => appendFileSync(log, `${id}\n`));
const result = await runtime.run(lead, 'Go.', { sessionId }).result;
process.stdout.write(`result ${result.status} after ${appends} appends\n`);
await runtime.close();
