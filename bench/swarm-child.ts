import { contendSwarm } from './swarm-contenders.ts';
import { checkedRun, SHAPES } from './swarm-work.ts';

/** What one process measured of one contender in one shape. */
export interface SwarmCost {
  /** CPU of the whole process, its worker threads included, for one run. */
  readonly cpuMs: number;
  readonly wallMs: number;
}

const [name = '', shapeName = '', baseURL = '', warmUp = '0', runs = '1'] = process.argv.slice(2);
const shape = SHAPES.find((known) => known === shapeName);
if (shape === undefined) throw new Error(`no shape is called ${shapeName}`);
const contender = await contendSwarm(name, baseURL);
for (let i = 0; i < Number(warmUp); i++) await checkedRun(contender, shape);

globalThis.gc?.();
const startedMs = performance.now();
const before = process.cpuUsage();
for (let i = 0; i < Number(runs); i++) await checkedRun(contender, shape);
const { user, system } = process.cpuUsage(before);
const wallMs = performance.now() - startedMs;

const cost: SwarmCost = { cpuMs: (user + system) / 1_000 / Number(runs), wallMs: wallMs / Number(runs) };
process.send?.(cost);
await contender[Symbol.asyncDispose]();
process.disconnect?.();
