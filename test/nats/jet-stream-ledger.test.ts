import { afterAll, beforeAll, describe, test } from 'vitest';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { ledgerContract } from '../../src/testing/ledger-contract.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, startLedgerServer } from './ledger-server.ts';

describe.skipIf(isNatsMissing())('NB-19 the JetStream ledger', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  for (const { title, run } of ledgerContract) {
    test(title, async () => {
      const ns = freshNamespace();
      const open = () => jetstreamLedger({ connection: server.url, ns });
      await run({ open, reopen: open });
    });
  }
});
