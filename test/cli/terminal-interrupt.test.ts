import { reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW } from './cli-process.ts';
import { noTerminal, openTerminal } from './terminal.ts';

const RUN = ['run', fixture('worker'), '--input', 'go'];

/** A model that would go on for ever. */
function holding() {
  return (_request: unknown, index: number) => reply().call('hold', { gate: `gate-${index}` });
}

describe.skipIf(noTerminal !== undefined)(`Ctrl-C in a terminal ${noTerminal ?? ''}`, SLOW, () => {
  it('lets the step under way finish, then ends the run as completed', async () => {
    await using place = await openWorkplace(holding());
    await using terminal = await openTerminal(place, RUN);
    await place.gates.gate('gate-0').reached;
    await terminal.press('C-c');
    await terminal.shows(/Ends after this step; Ctrl-C again cancels/);
    place.gates.gate('gate-0').open();
    const screen = await terminal.shows(/EXIT=0/);
    expect(screen).toMatch(/✓ hold/);
    expect(screen).toMatch(/^completed: after-step-stop/m);
    expect(place.server.requests).toHaveLength(1);
  });

  it('cancels at once when pressed twice, and gives the terminal back', async () => {
    await using place = await openWorkplace(holding());
    await using terminal = await openTerminal(place, RUN);
    await place.gates.gate('gate-0').reached;
    await terminal.press('C-c');
    await terminal.shows(/Ends after this step/);
    await terminal.press('C-c');
    const screen = await terminal.shows(/SETTINGS/);
    expect(screen).toMatch(/^cancelled: interrupted/m);
    expect(screen).toMatch(/EXIT=130\nicanon echo SETTINGS/);
    expect(await terminal.ask('cursor_flag')).toBe('1');
  });

  it('cancels a run that waits for an approval', async () => {
    await using place = await openWorkplace([reply().call('remove', { path: 'a' })]);
    await using terminal = await openTerminal(place, RUN);
    await terminal.shows(/y yes/);
    await terminal.press('C-c', 'C-c');
    await terminal.shows(/EXIT=130\nicanon echo SETTINGS/);
  });

  it('with a backslash kills the process, and the terminal is as it was', async () => {
    await using place = await openWorkplace(holding());
    await using terminal = await openTerminal(place, RUN);
    await place.gates.gate('gate-0').reached;
    await terminal.press('C-\\');
    await terminal.shows(/EXIT=131\nicanon echo SETTINGS/);
    expect(await terminal.ask('cursor_flag')).toBe('1');
  });

  it('gives the terminal back while the process is suspended, and draws again after', async () => {
    await using place = await openWorkplace(holding());
    // A shell with job control goes on after a command that was stopped.
    const job = { before: 'set -m; ', after: 'read -r _; fg; echo AGAIN=$?;' };
    await using terminal = await openTerminal(place, RUN, job);
    await place.gates.gate('gate-0').reached;
    await terminal.press('C-z');
    await terminal.shows(/EXIT=1(48|46)\nicanon echo SETTINGS/);
    expect(await terminal.ask('cursor_flag')).toBe('1');
    await terminal.press('Enter');
    await terminal.shows(/SETTINGS[\s\S]*hold {2}running/);
    await terminal.press('C-c', 'C-c');
    await terminal.shows(/AGAIN=130/);
  });
});
