import { checkedTurn, contend } from './contenders.ts';

/** What one process measured of one contender. */
export interface TurnCost {
  /** CPU of the whole process, its worker threads included, for one turn. */
  readonly cpuMs: number;
  readonly wallMs: number;
}

const [name = '', baseURL = '', warmUp = '0', turns = '1'] = process.argv.slice(2);
const contender = await contend(name, baseURL);
for (let i = 0; i < Number(warmUp); i++) await checkedTurn(contender);

globalThis.gc?.();
const startedMs = performance.now();
const before = process.cpuUsage();
for (let i = 0; i < Number(turns); i++) await checkedTurn(contender);
const { user, system } = process.cpuUsage(before);
const wallMs = performance.now() - startedMs;

const cost: TurnCost = { cpuMs: (user + system) / 1_000 / Number(turns), wallMs: wallMs / Number(turns) };
process.send?.(cost);
await contender[Symbol.asyncDispose]();
process.disconnect?.();
