import { createGate, reply } from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';
import { fixture, openWorkplace, SLOW } from './cli-process.ts';
import { noTerminal, openTerminal } from './terminal.ts';

describe.skipIf(noTerminal !== undefined)(`a run in a terminal ${noTerminal ?? ''}`, SLOW, () => {
  it('shows agent, step and tools with progress while they run', async () => {
    await using place = await openWorkplace([
      reply().call('hold', { gate: 'a' }).call('note', { text: 'kept' }).usage(40, 7),
      reply().text('All done.').usage(60, 3),
    ]);
    await using terminal = await openTerminal(place, ['run', fixture('worker'), '--input', 'go']);
    const screen = await terminal.shows(/holding at a/);
    expect(screen).toMatch(/worker/);
    expect(screen).toMatch(/✓ step 1 {2}40 in, 7 out {2}\$0\.05/);
    expect(screen).toMatch(/hold {2}running {2}\d+ s {2}→ holding at a {2}\{"gate":"a"\}/);
    expect(screen).toMatch(/✓ note .*→ kept/);
    expect(screen).toMatch(/1 step {2}2 calls {2}40 in, 7 out/);
    place.gates.gate('a').open();
    await terminal.shows(/EXIT=0/);
  });

  it('streams the answer as it is written', async () => {
    const gate = createGate();
    await using place = await openWorkplace([
      reply().text('The first half').wait(gate).text(' and the rest.'),
    ]);
    await using terminal = await openTerminal(place, ['run', fixture('worker'), '--input', 'go']);
    await terminal.shows(/^The first half$/m);
    gate.open();
    await terminal.shows(/^The first half and the rest\.$/m);
  });

  it('leaves the tree, the answer and a terminal as it was', async () => {
    await using place = await openWorkplace([
      reply().call('note', { text: 'kept' }),
      reply().text('All done.'),
    ]);
    await using terminal = await openTerminal(place, ['run', fixture('worker'), '--input', 'go']);
    const screen = await terminal.shows(/SETTINGS/);
    expect(screen).toMatch(
      /^✓ worker {2}completed[\s\S]*✓ note[\s\S]*^All done\.$[\s\S]*^completed {2}2 steps {2}1 call/m,
    );
    expect(screen).toMatch(/EXIT=0\nicanon echo SETTINGS/);
    expect(await terminal.ask('cursor_flag')).toBe('1');
    expect(await terminal.ask('wrap_flag')).toBe('1');
    expect(await terminal.styled()).toContain('\u001b[32m✓');
  });

  it('exits with 1 and names the failure', async () => {
    await using place = await openWorkplace([{ type: 'plain', status: 401, headers: {}, body: '{}' }]);
    await using terminal = await openTerminal(place, ['run', fixture('worker'), '--input', 'go']);
    const screen = await terminal.shows(/EXIT=1/);
    expect(screen).toMatch(/^failed: auth: /m);
  });

  it('writes no colours where NO_COLOR is set', async () => {
    await using place = await openWorkplace([reply().text('All done.')]);
    const env = { NO_COLOR: '1' };
    await using terminal = await openTerminal(place, ['run', fixture('worker'), '--input', 'go'], { env });
    await terminal.shows(/EXIT=0/);
    expect(await terminal.styled()).not.toContain('\u001b[');
  });
});
