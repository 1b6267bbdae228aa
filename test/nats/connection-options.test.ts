import { describe, expect, it } from 'vitest';
import { resolveNatsOptions, secretsOf } from '../../src/nats/connection-options.ts';

describe('options of a connection', () => {
  it('take credentials out of an address', () => {
    const resolved = resolveNatsOptions('nats://ann:hunter22@127.0.0.1:4333,nats://127.0.0.1');
    expect(resolved).toMatchObject({
      servers: ['127.0.0.1:4333', '127.0.0.1:4222'],
      auth: { user: 'ann', password: 'hunter22' },
      inboxPrefix: '_INBOX_ann',
    });
    expect(JSON.stringify(resolved.servers)).not.toContain('hunter22');
    expect(resolveNatsOptions('nats://s3cr3t-token@localhost').auth).toEqual({ token: 's3cr3t-token' });
    expect(secretsOf(resolved.auth)).toEqual(['hunter22']);
  });

  it.each([
    'nats://example.org',
    'nats://127.0.0.1.example.org:4222',
    'nats://127.0.0.1,nats://10.0.0.1',
    'tls://example.org,nats://10.0.0.1',
  ])('refuse %s without TLS', (servers) => {
    expect(() => resolveNatsOptions({ servers })).toThrow(expect.objectContaining({ code: 'nats-insecure' }));
    expect(resolveNatsOptions({ servers, allowInsecure: true }).tls).toBeUndefined();
    expect(resolveNatsOptions({ servers, tls: {} }).tls).toEqual({});
  });

  it('let an encrypted one and this machine be', () => {
    expect(resolveNatsOptions('tls://example.org').tls).toEqual({});
    for (const servers of ['nats://localhost', 'nats://127.0.0.1:1', 'nats://[::1]:4222', undefined]) {
      expect(resolveNatsOptions(servers === undefined ? {} : { servers }).tls).toBeUndefined();
    }
  });

  it.each([['http://127.0.0.1'], ['nats://'], [''], ['nats://a b']])('refuse the address %j', (servers) => {
    expect(() => resolveNatsOptions({ servers })).toThrow(
      expect.objectContaining({ code: 'invalid-definition' }),
    );
  });

  it('never quote a password in a complaint', () => {
    for (const servers of [
      'nats://ann:hunter22@example.org',
      'http://ann:hunter22@127.0.0.1',
      'nats://ann:hunter22@:x',
      'nats://ann:hunter22@a b',
      'nats://ann:hunter22%@127.0.0.1',
    ]) {
      try {
        resolveNatsOptions(servers);
        expect.unreachable();
      } catch (error) {
        expect(String(error)).not.toContain('hunter22');
      }
    }
  });

  it('name the address that is none, and the way to one that is far', () => {
    expect(() => resolveNatsOptions('not an address')).toThrow('"not an address" is no address');
    expect(() => resolveNatsOptions('nats://ann:a%b@127.0.0.1')).toThrow('%25');
    expect(() => resolveNatsOptions('nats://example.org')).toThrow('--allow-insecure');
  });

  it('refuse an inbox prefix that is a wildcard', () => {
    expect(() => resolveNatsOptions({ inboxPrefix: '>' })).toThrow('inboxPrefix');
  });
});
