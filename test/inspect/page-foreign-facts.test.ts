import type { Page } from 'playwright-core';
import type { RunEvent } from 'swarmwright';
import { expect, it } from 'vitest';
import { createEventLog } from '../../src/inspect/event-log.ts';
import { describeInBrowser } from './chromium.ts';
import { serveLog } from './served-log.ts';
import { whenReady } from './shown-run.ts';

// Whoever may publish on a bus can write anything where a name belongs.

const MARKUP = '<img src=x onerror="window.harmed=1"></title><script>window.harmed=2</script>';

const NAMES: readonly (readonly [string, string])[] = [
  ['markup', MARKUP],
  ['an address that runs', 'javascript:window.harmed=3'],
  ['text that turns around', 'safe\u202Efdp.exe\u2066\u200B\u2069'],
  ['control characters', 'a\u0000b\u0007c\u001B[2Jd\u2028e\u0085'],
  ['half a character', 'x\uD83D\uDC00y'],
  ['a name of every object', '__proto__'],
  ['a megabyte', `${'W'.repeat(1024 * 1024)}${MARKUP}`],
];

/** Facts of one run in which every text is `name`: one of each kind that a view reads. */
function factsOf(name: string): readonly RunEvent[] {
  let seq = 0;
  const turn = { turn: 's.1' };
  const step = { ...turn, step: 's.1.1' };
  const call = { ...step, call: 's.1.1.0' };
  const write = (type: string, place: object, data: object) => {
    seq += 1;
    const [kind = '', event = ''] = type.split('.');
    const session = { session: 's', root: 's', agent: name, agentPath: [name] };
    const scope = {
      id: `s:${seq}`,
      seq,
      prev: seq - 1,
      epoch: 1,
      ts: '2026-01-01T00:00:00.000Z',
      redacted: [],
    };
    return {
      v: 1,
      tv: 1,
      ...scope,
      ...session,
      actor: { kind: 'model' },
      ...place,
      type,
      kind,
      name: event,
      data,
    };
  };
  const usage = { inputTokens: 1, outputTokens: 1 };
  return [
    write('session.opened', {}, { kind: 'agent', agentPath: [name], origin: { session: name, seq: 1 } }),
    write('turn.opened', turn, { model: name, boundTools: 1, input: [{ type: 'text', text: name }] }),
    write('step.started', step, { visible: [name], active: [name], schemaChars: 9, toolsChange: name }),
    write('attempt.retry-scheduled', step, { reason: name, delayMs: 5 }),
    write('step.completed', step, { finish: name, calls: 1, usage }),
    write('tool.called', call, {
      toolName: name,
      requestedName: `${name}!`,
      args: { [name]: name },
      complaint: name,
    }),
    write('approval.requested', call, {
      request: name,
      toolName: name,
      question: name,
      input: { [name]: name },
    }),
    write('tool.refused', call, { toolName: name, code: name, text: name }),
    write('discovery.searched', step, {
      ...{ query: name, ranked: [name], activated: [name], alreadyActive: [], schemaChars: 1 },
      ...{ omittedByBytes: 0, omittedByLimit: 0 },
    }),
    write('child.intended', call, { child: 'c', agent: name }),
    write('handoff.refused', turn, { to: name, reason: name }),
    write('graph.claimed', turn, { work: 'w', node: name, child: 'd' }),
    write('node.finished', turn, { work: 'w', node: name, child: 'd', status: 'failed', message: name }),
    write('steering.accepted', turn, { id: name, text: name }),
    write('budget.exceeded', turn, { budget: name, used: 2, limit: 1 }),
    write('turn.closed', turn, {
      status: 'failed',
      error: { kind: name },
      message: name,
      reason: name,
      steps: 1,
    }),
  ] as unknown as readonly RunEvent[];
}

/** A page over such facts, with a request of the same kind. */
function serveFacts(name: string): Promise<string> {
  const log = createEventLog({ maxEvents: 1_000, maxBytes: 256 * 1024 * 1024 });
  for (const event of factsOf(name)) log.push(event);
  const facts = {
    id: 'r',
    kind: 'question',
    callId: 's.1.1.0',
    sessionId: 's',
    rememberable: false,
  } as const;
  return serveLog(log, [
    { ...facts, toolName: name, input: { [name]: name }, agentPath: [name], question: name },
  ]);
}

/** Looks at every row in every view, and once at every moment. */
async function lookAround(tab: Page): Promise<void> {
  for (const view of ['Sequence', 'Tools', 'Events', 'Chart']) {
    await tab.getByRole('tab', { name: view }).click();
    await tab.getByRole('tree').focus();
    await tab.keyboard.press('Home');
    for (let row = 0; row < 8; row += 1) await tab.keyboard.press('ArrowDown');
    await tab.locator('.panel:visible .view-title').first().waitFor();
  }
  await tab.getByRole('tab', { name: 'Events' }).click();
  await tab.getByRole('listbox', { name: 'Events' }).getByRole('option').nth(5).click();
  await tab.locator('.event-detail').waitFor();
  for (let moment = 0; moment < 10; moment += 1) await tab.keyboard.press('[');
  await tab.getByText('Earlier moment').waitFor();
}

/** Characters that hide or turn text, in anything that is read: text, titles, names for those who hear the page. */
const HIDDEN = `(() => {
  const unseen = /[\\u0000-\\u0008\\u000B-\\u001F\\u007F-\\u009F\\u200B\\u202A-\\u202E\\u2066-\\u2069]/;
  const read = [document.title, document.body.innerText];
  for (const element of document.querySelectorAll('*')) {
    for (const name of ['title', 'aria-label', 'aria-valuetext', 'placeholder']) read.push(element.getAttribute(name) ?? '');
  }
  return read.filter((text) => unseen.test(text)).map((text) => text.slice(0, 200));
})()`;

describeInBrowser('facts that anybody may have written', (browser) => {
  it.each(NAMES)('IN-08 are inert in every view: %s', async (_, name) => {
    const tab = await browser.open(await serveFacts(name));
    await whenReady(tab);
    await tab.locator('.approval').waitFor();
    await lookAround(tab);
    expect(await tab.evaluate('window.harmed')).toBeUndefined();
    expect(await tab.locator('img, body script, iframe, a[href^="javascript"]').count()).toBe(0);
    expect(await tab.evaluate(HIDDEN)).toEqual([]);
    await tab.getByRole('button', { name: 'Now' }).click();
    await tab.getByText('Earlier moment').waitFor({ state: 'detached' });
  });

  it('IN-03 are bounded, and the page says how many are gone', async () => {
    const facts = factsOf('lead');
    const log = createEventLog({ maxEvents: 10, maxBytes: 1_000_000 });
    for (const event of facts) log.push(event);
    const tab = await browser.open(await serveLog(log));
    await whenReady(tab);
    await tab.getByText(`${facts.length - 10} events dropped: only the newest are kept`).waitFor();
    await tab.getByRole('tab', { name: 'Events' }).click();
    await tab.getByText('10 events', { exact: true }).waitFor();
  });
});
