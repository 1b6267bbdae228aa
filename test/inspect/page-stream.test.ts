import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { createFactFrames } from '../../src/inspect/fact-frames.ts';
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
  const ring = createMoveRing(1);
  return streamTo(response as unknown as ServerResponse, {
    frames: createFactFrames(source, ring),
    ring,
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
  const response = new StalledResponse();
  const total = PAGE_LIMITS.batch * 10;
  let pulled = 0;
  let isOver = false;
  const source: FactSource = {
    position: async () => total,
    async *facts(_, signal): AsyncGenerator<PlacedFact> {
      while (!signal.aborted && pulled < total) {
        pulled += 1;
        yield { position: pulled, text: `{"id":"e${pulled}"}` };
      }
      isOver = true;
    },
    path: async () => [],
    said: async () => undefined,
  };
  const streaming = stream(response, source);
  await vi.waitFor(() => expect(response.writableNeedDrain).toBe(true));
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  // Two frames, and the first fact of what may come.
  expect(pulled).toBe(PAGE_LIMITS.batch * 2 + 1);
  response.end();
  await streaming;
  expect(isOver).toBe(true);
});
