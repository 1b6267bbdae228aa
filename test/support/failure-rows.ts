import { expect } from 'vitest';
import type { FailureKind } from '../../src/model/adapter.ts';
import { playReply } from './run-step.ts';
import { type SseServer, status } from './sse-server.ts';

/** An answer of a provider and the failure it is. */
export interface FailureRow {
  readonly title: string;
  readonly code: number;
  readonly body?: unknown;
  readonly headers?: { [name: string]: string };
  readonly kind: FailureKind;
  readonly detail?: string;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  readonly maxRetries?: number;
}

/** An error body as most providers write it. */
export const error = (message: string, fields: object = {}) => ({ error: { message, ...fields } });

/** One request, one answer, one failure: nothing is repeated and nothing shown. */
export async function checkFailure(server: SseServer, row: FailureRow): Promise<void> {
  const played = await playReply(server, status(row.code, row.body ?? '', row.headers));
  expect(played.requests).toBe(1);
  const { outcome } = played;
  if (outcome.type !== 'failed') throw new Error(`ended as ${outcome.type}`);
  const { kind, detail, retryable, retryAfterMs, maxRetries, status: code, phase } = outcome.failure;
  expect({ kind, detail, retryable, retryAfterMs, maxRetries, code, phase }).toEqual({
    kind: row.kind,
    detail: row.detail,
    retryable: row.retryable ?? false,
    retryAfterMs: row.retryAfterMs,
    maxRetries: row.maxRetries,
    code: row.code,
    phase: 'connect',
  });
  expect(outcome.failure.message).not.toBe('');
  expect(outcome.failure.message).not.toContain('<html>');
  expect(played.events).toEqual([]);
}
