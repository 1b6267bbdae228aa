// The script of the provider of a schedule. The file it notes requests in is named in the address of this module:
// `provider.ts?log=PATH`. What it answers depends on the request alone: a request that is sent again gets the same.
import { setTimeout as wait } from 'node:timers/promises';
import { reply } from '../../src/testing/reply.ts';
import type { ParsedRequest, ScriptedResponse } from '../../src/testing/script.ts';
import { openLines } from '../support/durable-lines.ts';
import { type SpyLine, type Task, taskIn } from './tasks.ts';

const log = openLines<SpyLine>(new URL(import.meta.url).searchParams.get('log') ?? '');

/** Time an answer takes, so that there is something to be killed in. */
const STREAM_MS = 120;

export function script({ messages, toolNames }: ParsedRequest): ScriptedResponse {
  log.note({ what: 'requested', at: Date.now(), messages });
  const task = taskIn(messages);
  const step = messages.filter(({ calls }) => calls.length > 0).length;
  const answer = reply()
    .text('So.')
    .wait((signal) => wait(STREAM_MS, undefined, { signal }).catch(() => undefined))
    .usage(10 + step, 2);
  const calls = toolNames.includes('ask_payer') ? callsOfLead(task, step) : callsOfPayer(task, step);
  return calls === undefined ? answer.text(` ${task.id} is done.`) : answer.calls(calls);
}

type Calls = readonly { readonly name: string; readonly args: Readonly<Record<string, string>> }[];

function callsOfLead({ id, kind }: Task, step: number): Calls | undefined {
  const call = (name: string, at: number) => ({ name, args: { id: `${id}-${step}-${at}` } });
  const ask = (at: number) => ({ name: 'ask_payer', args: { task: `tools ${id}-${at}` } });
  const steps: Readonly<Record<Task['kind'], readonly Calls[]>> = {
    tools: [[call('pay', 0), call('count', 1)], [call('pay', 0)]],
    children: [[ask(0), ask(1)], [call('count', 0)]],
    approval: [[call('erase', 0), call('pay', 1)]],
    long: [[call('slow', 0), call('pay', 1)]],
  };
  return steps[kind][step];
}

function callsOfPayer({ id }: Task, step: number): Calls | undefined {
  return step > 1 ? undefined : [{ name: step === 0 ? 'pay' : 'count', args: { id: `${id}-${step}` } }];
}
