import { askUser, createRuntime, defineAgent, defineGraph, memoryLedger, sqliteLedger } from 'swarmwright';
import { page, replayLedger, stately } from 'swarmwright/inspect';
import {
  createFaultPoints,
  faultyLedger,
  faultyModel,
  recordingSink,
  reply,
  scriptedModel,
  scriptedServer,
} from 'swarmwright/testing';
import { describe, expect, it } from 'vitest';

/** As a caller without types gives them. */
const untyped = (options: unknown) => options as never;

const script = [reply().text('Done.')];

const refused = (message: string, code = 'invalid-definition') => expect.objectContaining({ code, message });

describe('options that are misspelt are refused by name', () => {
  it.each([
    ['memoryLedger', () => memoryLedger(untyped({ clok: 1 })), 'clok'],
    ['askUser', () => askUser(untyped({ nme: 'ask' })), 'nme'],
    ['graph g: build', () => defineGraph({ name: 'g' }).build(untyped({ outpt: 'input' })), 'outpt'],
    ['scriptedModel', () => scriptedModel(untyped({ scrip: [] })), 'scrip'],
    ['scriptedModel', () => scriptedModel(untyped({ script, modelid: 'm' })), 'modelid'],
    ['recordingSink', () => recordingSink(untyped({ nme: 'x' })), 'nme'],
    ['a fault', () => createFaultPoints(untyped([{ at: 'append', recrd: 'turn.opened' }])), 'recrd'],
  ])('%s', (where, give, name) => {
    expect(give).toThrow(refused(`${where}: there is no option ${name}`));
  });

  it.each([
    ['page', () => page(untyped({ prt: 1 })), 'prt'],
    ['stately', () => stately(untyped({ adress: 'ws://127.0.0.1' })), 'adress'],
  ])('%s', (where, give, name) => {
    expect(give).toThrow(refused(`${where}: there is no option ${name}`, 'invalid-inspector'));
  });

  it.each([
    ['approvals.pending', () => createRuntime().approvals.pending(untyped({ sesionId: 's-1' })), 'sesionId'],
    ['sqliteLedger', () => sqliteLedger(untyped({ path: 'never.db', clok: 1 })), 'clok'],
    ['scriptedServer', () => scriptedServer(untyped({ script, port: 1 })), 'port'],
    ['replayLedger', () => replayLedger(memoryLedger(), page(), untyped({ rot: 's-1' })), 'rot'],
  ])('%s', async (where, give, name) => {
    await expect(give()).rejects.toEqual(refused(`${where}: there is no option ${name}`));
  });
});

it('a run refuses them when its events are read, and goes on', async () => {
  await using runtime = createRuntime();
  const agent = defineAgent({ name: 'a', instructions: 'Answer.', model: scriptedModel({ script }) });
  const run = runtime.run(agent, 'Go.');
  expect(() => run.events(untyped({ tre: true }))).toThrow(refused('run.events: there is no option tre'));
  expect(await run.result).toMatchObject({ status: 'completed' });
});

describe('what is given in place of options is named', () => {
  it.each([
    ['nothing', () => scriptedModel(untyped(undefined)), 'scriptedModel takes an object of options'],
    [
      'no script',
      () => scriptedModel(untyped({})),
      'scriptedModel: script is a list of answers, { routes } or a function',
    ],
    [
      'one answer',
      () => scriptedModel(untyped({ script: reply() })),
      'scriptedModel: script is a list of answers, { routes } or a function',
    ],
    ['no faults', () => faultyLedger(memoryLedger(), untyped(undefined)), 'faults are a list'],
    ['no faults of a model', () => faultyModel(scriptedModel({ script }), untyped({})), 'faults are a list'],
    ['no graph', () => defineGraph(untyped(undefined)), 'defineGraph takes an object with a name'],
    [
      'no output',
      () => defineGraph({ name: 'g' }).build(untyped({})),
      'graph g: the output undefined is no node',
    ],
  ])('%s', (_, give, message) => {
    expect(give).toThrow(refused(message));
  });
});
