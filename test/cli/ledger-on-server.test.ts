import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { isNatsMissing, type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { fixture, openWorkplace, SLOW, sessionIn, type Workplace } from './cli-process.ts';

const removing = () => [reply().call('remove', { path: 'a.txt' }), reply().text('Done.')];
const POOL = ['--pool', 'reviews'];

/** Streams, a worker of a pool, and the way to the ledger. */
async function startPool(server: NatsServer, place: Workplace) {
  const nats = ['--nats', server.url];
  expect((await place.run(['nats', 'init', '--ledger', ...nats])).code).toBe(0);
  const worker = place.start(['worker', fixture('worker'), ...nats, ...POOL]);
  expect(await worker.line(/works on turns of worker in the pool reviews/)).toBeDefined();
  return { worker, ledger: ['--ledger', server.url] };
}

describe.skipIf(isNatsMissing())('a ledger on a server', SLOW, () => {
  it('gives a run to workers, and a third process decides, looks and lists', async () => {
    await using server = await startNatsServer();
    await using place = await openWorkplace(removing());
    const { worker, ledger } = await startPool(server, place);
    const run = place.start(['run', fixture('worker'), '--input', 'go', ...POOL, ...ledger]);
    expect(await run.errorLine(/given to the workers of reviews as session s-/)).toBeDefined();
    const session = sessionIn((await run.line(/began in session/)) ?? '');
    await run.line(/turn paused/);
    const requests = await place.run(['approvals', 'ls', ...ledger]);
    expect(requests.stdout).toContain(`swarmwright approve ${session}.1.1.0.ask --ledger ${server.url}`);
    const left = await place.run(['recover', ...ledger]);
    expect(left.stdout).toContain(
      `  swarmwright resume FILE ${session} --ledger ${server.url} --pool reviews\n`,
    );
    // Its own pool is another one: the wake goes to the workers that have the session.
    expect((await place.run(['approve', `${session}.1.1.0.ask`, ...ledger])).code).toBe(0);
    const told = await run.ended;
    expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining('Done.') });
    expect(told.stderr).not.toContain('has made the pool');
    const listed = await place.run(['sessions', 'ls', ...ledger]);
    expect(listed.stdout).toMatch(new RegExp(`^${session} +worker +idle`));
    const shown = await place.run(['sessions', 'show', session, ...ledger]);
    expect(shown.stdout).toContain('removed a.txt');
    worker.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });

  it('cancels a turn that sleeps', async () => {
    await using server = await startNatsServer();
    await using place = await openWorkplace(removing());
    const { worker, ledger } = await startPool(server, place);
    const run = place.start(['run', fixture('worker'), '--input', 'go', ...POOL, ...ledger]);
    const session = sessionIn((await run.line(/began in session/)) ?? '');
    await run.line(/turn paused/);
    const told = await place.run(['cancel', session, '--reason', 'enough', ...ledger]);
    expect(told).toMatchObject({ code: 0, stdout: `told to stop: ${session}\n` });
    expect(await run.ended).toMatchObject({ code: 130, stdout: expect.stringContaining('enough') });
    worker.kill('SIGTERM');
    await worker.ended;
  });

  it('tells of a pool that no worker has made', async () => {
    await using server = await startNatsServer({ conf: 'project' });
    await using place = await openWorkplace([]);
    const admin = server.urlOf('provisioner');
    expect((await place.run(['nats', 'init', '--ledger', '--nats', admin])).code).toBe(0);
    const mistyped = ['--pool', 'revews', '--quiet', '--ledger', server.urlOf('worker')];
    const run = place.start(['run', fixture('worker'), '--input', 'go', ...mistyped]);
    expect(await run.errorLine(/^no worker has made the pool revews yet/)).toBeDefined();
    run.kill('SIGKILL');
    const resume = place.start(['resume', fixture('worker'), 's-none', ...mistyped]);
    expect(await resume.errorLine(/^no worker has made the pool revews yet/)).toBeDefined();
    resume.kill('SIGKILL');
  });

  it('says nothing of a pool to who may not ask for it', async () => {
    const user = 'permissions { publish { deny: "$JS.API.CONSUMER.INFO.SWM_Q.>" } }';
    const more = `authorization { users: [{ user: giver, password: giver, ${user} }] }`;
    await using server = await startNatsServer({ more });
    await using place = await openWorkplace([]);
    const giver = server.urlOf('giver');
    expect((await place.run(['nats', 'init', '--ledger', '--nats', giver])).code).toBe(0);
    const given = ['--pool', 'reviews', '--ledger', giver];
    const run = place.start(['run', fixture('worker'), '--input', 'go', ...given]);
    // The word on a pool comes before this one.
    expect(await run.errorLine(/given to the workers of reviews/)).toBeDefined();
    run.kill('SIGKILL');
    expect((await run.ended).stderr).not.toMatch(/has made the pool|Permissions/);
  });

  it('runs in the process itself where no pool is named', async () => {
    await using server = await startNatsServer();
    await using place = await openWorkplace([reply().text('Done here.')]);
    expect((await place.run(['nats', 'init', '--ledger', '--nats', server.url])).code).toBe(0);
    const ledger = { SWARMWRIGHT_LEDGER: server.url };
    const run = await place.run(['run', fixture('worker'), '--input', 'go'], { env: ledger });
    expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('Done here.') });
  });

  it('tells no password of an address, and refuses a pool without a server', async () => {
    await using server = await startNatsServer();
    await using place = await openWorkplace([]);
    expect((await place.run(['nats', 'init', '--ledger', '--nats', server.url])).code).toBe(0);
    const secret = server.url.replace('nats://', 'nats://me:geheim-wort@');
    const missing = await place.run(['sessions', 'show', 's-none', '--ledger', secret]);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain('no session s-none is in the ledger nats://***@');
    const pool = await place.run(['run', fixture('worker'), '--input', 'go', ...POOL]);
    expect(pool).toMatchObject({ code: 1, stderr: expect.stringContaining('--ledger nats://') });
    const web = await place.run(['sessions', 'ls', '--ledger', 'http://127.0.0.1:9']);
    expect(web).toMatchObject({ code: 2, stderr: expect.stringContaining('nats://') });
  });
});
