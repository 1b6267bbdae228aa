import { reply, scriptByModel } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW } from './cli-process.ts';
import { noTerminal, openTerminal } from './terminal.ts';

const RUN = ['run', fixture('lead'), '--input', 'go'];

describe.skipIf(noTerminal !== undefined)(`children in a terminal ${noTerminal ?? ''}`, SLOW, () => {
  it('are shown below the call that asked while they run, and ask a person with their path', async () => {
    await using place = await openWorkplace(
      scriptByModel({
        lead: [reply().call('ask_scout', { task: 'tidy' }), reply().text('Tidied.')],
        scout: [reply().call('remove', { path: 'a.txt' }), reply().text('Gone.')],
      }),
    );
    await using terminal = await openTerminal(place, RUN);
    const screen = await terminal.shows(/y yes/);
    expect(screen).toMatch(
      /lead\b[\s\S]*ask_scout[\s\S]*\n +[└├] .* ?scout\b[\s\S]*remove {2}waits for approval/,
    );
    expect(screen).toMatch(/^\? remove {2}asked by lead\/scout$/m);
    await terminal.press('y');
    const end = await terminal.shows(/EXIT=0/);
    expect(end).toMatch(/✓ scout {2}completed/);
    expect(end).toMatch(/✓ lead {2}completed/);
  });
});
