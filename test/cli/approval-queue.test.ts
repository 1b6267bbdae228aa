import type { PendingApproval } from 'swarmwright';
import { describe, expect, it } from 'vitest';
import { ApprovalQueue } from '../../src/cli/approval-queue.ts';

const request: PendingApproval = {
  id: 's-1.1.1.0.ask',
  kind: 'permission',
  toolName: 'pay',
  input: { amount: 1 },
  callId: 's-1.1.1.0',
  sessionId: 's-1',
  agentPath: ['clerk'],
  rememberable: false,
};

describe('requests that wait at a terminal', () => {
  it('those of an earlier process are taken up as they were asked', async () => {
    const queue = new ApprovalQueue(async () => [request]);
    await queue.restore('s-1');
    expect(queue.open).toEqual([request]);
  });

  it('one that is seen twice waits once', async () => {
    const queue = new ApprovalQueue(async () => [request]);
    await queue.restore('s-1');
    await queue.restore('s-1');
    expect(queue.open).toHaveLength(1);
  });
});
