import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { FactSource, PlacedFact } from '../../src/inspect/fact-source.ts';
import { createMoveRing } from '../../src/inspect/move-ring.ts';
import { resolvePageOptions } from '../../src/inspect/page-options.ts';
import { streamTo } from '../../src/inspect/page-stream.ts';
import { PAGE_LIMITS } from '../../src/limits.ts';

/** A viewer that takes the head of the stream, and nothing after it. */
class StalledResponse extends EventEmitter {
  destroyed = false;
  writableNeedDrain = false;
  written = 0;

  write(): boolean {
    this.written += 1;
    this.writableNeedDrain = this.written > 2;
    return !this.writableNeedDrain;
  }

  end(): void {
    this.emit('close');
  }
}

function stream(response: StalledResponse, source: FactSource): Promise<void> {
  return streamTo(response as unknown as ServerResponse, {
    source,
    ring: createMoveRing(1),
    live: () => [],
    settings: resolvePageOptions({}),
    from: undefined,
    controls: false,
    canFork: false,
  });
}

it('IN-07 ends at once for a viewer that went before there were facts to be had', async () => {
  const response = new StalledResponse();
  response.destroyed = true;
  let isLeft = false;
  await stream(response, {
    position: async () => 1,
    async *facts(_, signal) {
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      isLeft = true;
    },
    path: async () => [],
    said: async () => undefined,
  });
  expect(isLeft).toBe(true);
});

it('IN-07 pulls no more facts for a viewer that has stopped to read', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const response = new StalledResponse();
  let pulled = 0;
  const source = {
    position: async () => 0,
    async *facts(): AsyncGenerator<PlacedFact> {
      for (;;) {
        pulled += 1;
        // Slower than a batch fills: what is there goes out each time the page flushes.
        await vi.advanceTimersByTimeAsync(PAGE_LIMITS.flushMs);
        yield { position: pulled, text: `{"id":"e${pulled}"}` };
        if (pulled === PAGE_LIMITS.batch * 4) return;
      }
    },
    path: async () => [],
    said: async () => undefined,
  };
  const streaming = stream(response, source);
  await vi.waitFor(() => expect(pulled).toBeGreaterThanOrEqual(PAGE_LIMITS.batch));
  for (let turn = 0; turn < PAGE_LIMITS.batch * 4; turn += 1) await vi.advanceTimersByTimeAsync(1);
  expect(pulled).toBeLessThanOrEqual(PAGE_LIMITS.batch + 2);
  response.end();
  await streaming;
});
