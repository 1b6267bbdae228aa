import { reply, scriptByModel } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW, sessionIn } from './cli-process.ts';

describe('recover', SLOW, () => {
  it('says of a child which run it goes on with, and quotes where that is', async () => {
    await using place = await openWorkplace(
      scriptByModel({
        lead: [reply().call('ask_scout', { task: 'tidy' })],
        scout: [reply().call('remove', { path: 'a.txt' })],
      }),
    );
    const ledger = ['--ledger', 'my ledger;.db'];
    const run = ['run', fixture('lead'), '--input', 'go', '--on-approval', 'pause'];
    const paused = await place.run([...run, ...ledger]);
    const session = sessionIn(paused.stdout);
    const resume = `${session} --ledger 'my ledger;.db'`;
    expect(paused.stdout).toContain(`\nthen: swarmwright resume ${fixture('lead')} ${resume}\n`);
    const { stdout } = await place.run(['recover', ...ledger]);
    expect(stdout).toContain(`  swarmwright resume FILE ${resume}\n`);
    expect(stdout).toContain(`  goes on with ${session}\n`);
    expect(stdout.match(/swarmwright resume/g)).toHaveLength(1);
  });
});
