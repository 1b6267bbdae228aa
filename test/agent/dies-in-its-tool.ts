// Run as a process of its own: takes a ledger file and a server, and dies by SIGKILL inside its tool.
import { createRuntime } from '../../src/index.ts';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { payingAgent } from './paying-agent.ts';

const [path = '', baseURL = ''] = process.argv.slice(2);
const runtime = createRuntime({ ledger: sqliteLedger({ path }) });
const agent = payingAgent(baseURL, () => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
});
await runtime.run(agent, 'Pay.', { sessionId: 'paying' }).result;
