import type { RecordData, RecordType } from '../../src/ledger/records.ts';

const hash = (digit: string) => digit.repeat(64);

/** Words that stand only in what people, models and tools said: none may leave with content off. */
export const SPOKEN = 'xylophone';

const user = [{ type: 'text' as const, text: `say ${SPOKEN}` }];
const failure = {
  kind: 'rate-limited',
  detail: 'quota',
  message: `the prompt ${SPOKEN} is too much`,
  status: 429,
  retryAfterMs: 1_500,
};
const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
const artifact = { sha256: hash('a'), size: 9, mediaType: 'text/plain' };

/** Data as the runtime writes it, several where one record type makes several events. */
export const SAMPLES: { readonly [T in RecordType]?: readonly RecordData<T>[] } = {
  'session.opened': [
    {
      kind: 'agent',
      ceiling: ['look', 'write'],
      ceilingHash: hash('1'),
      agentPath: ['boss', 'scout'],
      depth: 1,
    },
  ],
  'turn.opened': [
    {
      ordinal: 1,
      run: 'r-1',
      input: user,
      bound: ['look'],
      boundHash: hash('2'),
      discovery: 'search',
      model: 'scripted',
      instructionsHash: hash('3'),
      budget: { steps: 5 },
    },
  ],
  'turn.paused': [{ reason: 'approval', open: ['s.1.1.0.ask'] }],
  'turn.resumed': [{ run: 'r-2' }],
  'step.opened': [
    { index: 1, visible: ['look', 'tool_search'], toolsHash: hash('4'), schemaChars: 120, active: [] },
  ],
  'attempt.started': [{ attempt: 1, sha256: hash('5') }],
  'attempt.failed': [{ attempt: 1, failure, retryable: true }],
  'attempt.retry-scheduled': [{ attempt: 2, maxAttempts: 10, delayMs: 1_000, reason: 'rate-limited' }],
  'tool.called': [
    {
      ordinal: 0,
      wireId: 'call_1',
      toolName: 'look',
      requestedName: 'Look',
      args: { at: SPOKEN },
      argsHash: hash('6'),
      schemaHash: hash('7'),
      repaired: ['name'],
      providerMetadata: { scripted: { signature: SPOKEN } },
    },
  ],
  'tool.refused': [{ code: 'invalid-arguments', text: `no ${SPOKEN}`, toolName: 'look' }],
  'tool.dispatched': [
    {
      operationId: 'op-1',
      toolName: 'look',
      recovery: 'replay_safe',
      argsHash: hash('6'),
      generation: 0,
      editedArgs: { at: SPOKEN },
    },
  ],
  'tool.progressed': [{ text: `half of ${SPOKEN}` }],
  'tool.settled': [
    {
      operationId: 'op-1',
      toolName: 'look',
      status: 'success',
      output: { type: 'text', text: SPOKEN },
      result: { found: SPOKEN },
      resultRef: artifact,
      durationMs: 12,
    },
  ],
  'tool.indeterminate': [{ operationId: 'op-2', toolName: 'write', reason: 'no outcome is recorded' }],
  'tool.reconciled': [{ operationId: 'op-2', decision: 'settle', actor: 'ann', evidence: `saw ${SPOKEN}` }],
  'tools.searched': [
    {
      query: SPOKEN,
      limit: 5,
      ranked: ['write', 'erase'],
      activated: ['write'],
      alreadyActive: [],
      omittedByLimit: 1,
      omittedByBytes: 0,
      schemaChars: 80,
      durationMs: 1,
    },
  ],
  'tools.activated': [{ names: ['write'], schemaChars: 80 }],
  'tools.changed': [
    {
      revision: 2,
      added: [{ name: 'sing', source: 'mcp:choir', schemaHash: hash('8') }],
      changed: [{ name: 'hum', source: 'mcp:choir', schemaHash: hash('9') }],
      withdrawn: ['shout'],
      excluded: [{ name: 'look', source: 'mcp:choir', reason: 'duplicate-tool' }],
    },
  ],
  'tools.cleared': [{ names: ['write'] }],
  'tools.measured': [
    {
      deferredCount: 20,
      exposedDeferred: ['write', 'erase'],
      exposedDeferredSchemaChars: 180,
      calledDeferred: ['write'],
      exposedUnusedCount: 1,
      exposedUnusedSchemaChars: 100,
      searchCount: 2,
      repeatedSearchCount: 1,
      revisedSearchCount: 0,
      emptySearchCount: 0,
      wanted: [{ name: 'write', rank: 1 }, { name: 'paint' }],
      recallAtK: 0.5,
      k: 5,
      missOutsideCap: 0,
      hiddenCallRejections: 1,
      timeToFirstSuccessfulToolCallMs: 1_200,
      stepsToFirstSuccessfulToolCall: 2,
      toolsBlockChanges: 1,
    },
  ],
  'permission.requested': [
    {
      request: 's.1.1.0.ask',
      kind: 'question',
      toolName: 'look',
      argsHash: hash('6'),
      schemaHash: hash('7'),
      scopeKey: `look:${SPOKEN}`,
      rememberable: true,
      expiresAt: 1_767_225_600_000,
      question: `may I ${SPOKEN}?`,
    },
  ],
  'permission.decided': [
    {
      request: 's.1.1.0.ask',
      decision: 'approve',
      scope: 'turn',
      reason: `because ${SPOKEN}`,
      editedInput: { at: SPOKEN },
      answer: SPOKEN,
      argsHash: hash('6'),
      actor: 'ann',
    },
  ],
  'permission.expired': [{ request: 's.1.1.1.ask' }],
  'permission.cancelled': [{ request: 's.1.1.2.ask', reason: 'the turn was stopped' }],
  'steering.accepted': [{ id: 'steering1', text: `rather ${SPOKEN}`, actor: 'ann' }],
  'steering.injected': [{ ids: ['steering1'] }],
  'steering.undelivered': [{ ids: ['steering2'], reason: 'the turn ended' }],
  'message.received': [{ from: 'bob', parts: user }],
  'message.refused': [{ from: 'bob', reason: 'the mailbox is full' }],
  'budget.exceeded': [{ budget: 'tokens', limit: 1_000, used: 1_010 }],
  'step.closed': [
    { status: 'completed', attempts: 1, calls: 1, finish: 'tool-calls', rawFinish: 'tool_calls', usage },
    { status: 'failed', attempts: 2, calls: 0, failure, modelId: 'm', responseId: 'x' },
    { status: 'aborted', attempts: 1, calls: 0 },
  ],
  'step.cache-broken': [{ previousInputTokens: 9_000, cacheReadTokens: 12, systemChanged: true }],
  'compaction.committed': [
    {
      trigger: 'capacity',
      coversSeq: 20,
      messages: 9,
      fromChars: 90_000,
      toChars: 1_200,
      summary: `so far ${SPOKEN}`,
      requests: 1,
      usage,
    },
  ],
  'compaction.skipped': [{ trigger: 'overflow', reason: 'summarizer_failed', fits: false, requests: 3 }],
  'turn.closed': [
    {
      status: 'failed',
      stopReason: 'error',
      steps: 2,
      toolCalls: 1,
      usage,
      error: failure,
      reason: `cancelled: ${SPOKEN}`,
      output: { answer: SPOKEN },
    },
  ],
  'session.closed': [{ reason: `done with ${SPOKEN}` }],
};
