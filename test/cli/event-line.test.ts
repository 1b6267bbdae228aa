import { reply } from 'swarmwright/testing';
import { expect, it } from 'vitest';
import { eventLine, whoIn } from '../../src/cli/event-line.ts';
import { eventLike, sampleEvents } from './sample-events.ts';

it('a line names who it is about as the name of its event does, whatever the session is called', async () => {
  const events = await sampleEvents([reply().text('Done.')]);
  const swarm = events.map((event) => ({ ...event, agent: 'review', agentPath: ['lead', 'worker'] }));
  const lines = swarm.map((event) => eventLine(event, { ledgerOption: '' })?.[0]?.text);
  const told = lines.filter((text) => text !== undefined);
  expect(told.length).toBeGreaterThan(3);
  expect(new Set([...told, ...swarm.map((event) => `${whoIn(event)}: `)])).toEqual(
    new Set(['lead/worker: ']),
  );
});

it.each([
  ['approval', 'turn paused, waits for approval'],
  ['children', 'turn paused, its children are at work'],
  ['requested', 'turn paused, as was asked'],
] as const)('a pause for the reason %s is told as such', async (reason, text) => {
  const [sample] = await sampleEvents([reply().text('Done.')]);
  if (sample === undefined) throw new Error('no event');
  const paused = eventLike(sample, 'turn.paused', { data: { reason, open: [] } });
  expect(eventLine(paused, { ledgerOption: '' })?.[1]?.text).toBe(text);
});
