import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { NatsServer } from '../support/nats-server.ts';

/** How a disk is made slow on this machine. */
export const slowness: 'strace' | 'stalls' =
  spawnSync('strace', ['-qq', '-e', 'trace=none', '-e', 'inject=fsync:delay_enter=1', 'true']).status === 0
    ? 'strace'
    : 'stalls';

/**
 * Makes every flush of a server take longer for a while. Where no tracer is allowed the whole server stands still in
 * short bursts instead.
 */
export function slowDisk(server: NatsServer, flushMs: number, forMs: number): Promise<void> {
  return slowness === 'strace' ? delayFlushes(server.pid, flushMs, forMs) : stall(server, flushMs, forMs);
}

async function delayFlushes(pid: number, flushMs: number, forMs: number): Promise<void> {
  const calls = 'fsync,fdatasync';
  const delay = `inject=${calls}:delay_enter=${flushMs * 1_000}`;
  const tracer = spawn('strace', ['-f', '-qq', '-p', String(pid), '-e', `trace=${calls}`, '-e', delay], {
    stdio: 'ignore',
  });
  const gone = once(tracer, 'close');
  await Promise.race([gone, wait(forMs)]);
  // It lets go of the server; killed, it would leave it stopped.
  tracer.kill('SIGINT');
  await gone;
}

async function stall(server: NatsServer, flushMs: number, forMs: number): Promise<void> {
  const end = Date.now() + forMs;
  while (Date.now() < end) {
    server.stall();
    await wait(flushMs);
    server.wake();
    await wait(flushMs);
  }
}
