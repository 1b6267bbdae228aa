import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectNats } from '../../src/nats/client.ts';
import type { NatsOptions } from '../../src/nats/connection-options.ts';
import { isNatsMissing, startNatsServer } from '../support/nats-server.ts';
import { until } from './bus.ts';

// Made for this test; it opens nothing else.
const SEED = 'SUANG3P7FOPDTPWGAWOS3MILKJZW3CM7IEE3RTMLALFHSMMRBCECX7P45M';
const PUBLIC = 'UCOKYBOMK5GREZW24VZCARU66SVXCHOMISN6O3BSRMTN2DKD3MYES6XM';
const WRONG_SEED = SEED.replace('SUANG', 'SUBNG');

async function started(more: string) {
  const server = await startNatsServer({ more });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

/** Whether a client gets in, and what its state says if not. */
async function tryOut(options: NatsOptions): Promise<string> {
  await using client = connectNats(options);
  await until(() => client.state.type !== 'connecting', 'an answer');
  const { type, message = '' } = client.state;
  return type === 'connected' ? type : message;
}

describe.skipIf(isNatsMissing())('who a connection is', () => {
  it('may be a token, in the address or beside it, which no complaint quotes', async () => {
    const server = await started('authorization { token: "hunter22-token" }');
    const servers = server.url;
    expect(await tryOut({ servers: servers.replace('//', '//hunter22-token@') })).toBe('connected');
    expect(await tryOut({ servers, auth: { token: 'hunter22-token' } })).toBe('connected');
    const wrong = await tryOut({ servers, auth: { token: 'hunter23-token' } });
    expect(wrong).toMatch(/authorization/i);
    expect(wrong).not.toContain('hunter23');
  });

  it('may be an nkey, whose seed no complaint quotes', async () => {
    const server = await started(`authorization { users: [ { nkey: ${PUBLIC} } ] }`);
    const servers = server.url;
    expect(await tryOut({ servers, auth: { nkeySeed: SEED } })).toBe('connected');
    expect(await tryOut({ servers })).toMatch(/authorization/i);
    for (const nkeySeed of [WRONG_SEED, 'no seed at all']) {
      const wrong = await tryOut({ servers, auth: { nkeySeed } });
      expect(wrong).not.toBe('connected');
      expect(wrong).not.toContain(nkeySeed);
    }
  });
});

const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(isNatsMissing() || !hasOpenssl)('an encrypted connection', () => {
  it('is made with the certificate it trusts, and with no other', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'swm-tls-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
    const made = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '1',
      '-keyout',
      key,
      '-out',
      cert,
    ];
    execFileSync('openssl', [...made, ...subject], { stdio: 'ignore' });
    const server = await started(
      `tls { cert_file: ${JSON.stringify(cert)}, key_file: ${JSON.stringify(key)} }`,
    );
    const servers = server.url;
    expect(await tryOut({ servers, tls: { caFile: cert } })).toBe('connected');
    expect(await tryOut({ servers: servers.replace('nats:', 'tls:') })).toMatch(/certificate|self-signed/i);
  });
});
