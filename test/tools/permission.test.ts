import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/ledger/content.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import {
  decidePermission,
  type PermissionDecision,
  type PermissionOptions,
  type PermissionPolicy,
  type PermissionRequest,
  scopeKeyOf,
  type Verdict,
} from '../../src/tools/permission.ts';
import type { ToolDefinition } from '../../src/tools/tool.ts';
import { boundNamed } from './bound-tool.ts';

const request: PermissionRequest = {
  id: 'c0.ask',
  toolName: 'probe',
  input: Object.freeze({ path: 'a' }),
  callId: 'c0',
  sessionId: 's-1',
  agentPath: ['lead', 'helper'],
};
const scope = { agent: 'helper', agentPath: ['lead', 'helper'], sessionId: 's-1', context: undefined };
const always =
  (verdict: unknown): PermissionPolicy =>
  () =>
    verdict as Verdict;

type Need = ToolDefinition<JsonObject, unknown, unknown>['needsApproval'];

function decide(
  policies: readonly PermissionPolicy[],
  needsApproval: Need = false,
  rest: Partial<PermissionOptions> & { readonly rememberable?: boolean } = {},
): Promise<PermissionDecision> {
  const { rememberable = true, ...options } = rest;
  const bound = boundNamed('probe', {
    ...(needsApproval === undefined ? {} : { needsApproval }),
    rememberable,
  });
  return decidePermission(bound, request, { policies, scope, ...options });
}

describe('decidePermission', () => {
  it('allows where nobody objects', async () => {
    expect(await decide([])).toEqual({ type: 'allow' });
    expect(await decide([always('allow')])).toEqual({ type: 'allow' });
  });

  it('asks where the tool or a policy wants it', async () => {
    expect(await decide([], true)).toEqual({ type: 'ask' });
    expect(await decide([always('ask')])).toEqual({ type: 'ask' });
    expect(await decide([always('allow')], true)).toEqual({ type: 'ask' });
  });

  it('lets deny beat ask and ask beat allow, in any order', async () => {
    const verdict = fc.constantFrom<Verdict>('allow', 'ask', 'deny');
    await fc.assert(
      fc.asyncProperty(fc.array(verdict, { maxLength: 5 }), fc.boolean(), async (verdicts, needs) => {
        const expected = verdicts.includes('deny')
          ? 'deny'
          : needs || verdicts.includes('ask')
            ? 'ask'
            : 'allow';
        expect((await decide(verdicts.map(always), needs)).type).toBe(expected);
      }),
    );
  });

  it('never allows more because a policy was added', async () => {
    const rank = { allow: 0, ask: 1, deny: 2 } as const;
    const verdict = fc.constantFrom<unknown>(
      'allow',
      'ask',
      'deny',
      { type: 'deny', reason: 'x' },
      undefined,
      'yes',
      true,
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(verdict, { maxLength: 4 }),
        verdict,
        fc.nat(),
        async (verdicts, added, at) => {
          const more = verdicts.toSpliced(at % (verdicts.length + 1), 0, added);
          const before = await decide(verdicts.map(always));
          const after = await decide(more.map(always));
          expect(rank[after.type]).toBeGreaterThanOrEqual(rank[before.type]);
        },
      ),
    );
  });

  it('keeps an explicit deny under a policy that allows everything', async () => {
    expect((await decide([always('allow'), always('deny'), always('allow')])).type).toBe('deny');
  });

  it.each<[string, PermissionPolicy]>([
    [
      'throws',
      () => {
        throw new TypeError('secret detail');
      },
    ],
    ['rejects', () => Promise.reject(new TypeError('secret detail'))],
  ])('denies when a policy %s, without its words', async (_, policy) => {
    const decision = await decide([policy]);
    expect(decision.type).toBe('deny');
    expect(JSON.stringify(decision)).not.toContain('secret detail');
  });

  it.each([undefined, null, '', 'yes', 'ALLOW', true, 1, {}, { type: 'allow' }])(
    'denies the unusable verdict %j',
    async (verdict) => {
      expect(await decide([always(verdict)])).toEqual({
        type: 'deny',
        reason: 'the policy gave no usable verdict',
      });
    },
  );

  it('passes the reason of a denial on, bounded', async () => {
    expect(await decide([always({ type: 'deny', reason: 'not on Fridays' })])).toEqual({
      type: 'deny',
      reason: 'not on Fridays',
    });
    const { reason } = (await decide([always({ type: 'deny', reason: 'x'.repeat(9_000) })])) as {
      reason: string;
    };
    expect(reason).toHaveLength(500);
  });

  it('asks no further policy after a denial', async () => {
    let asked = 0;
    await decide([
      always('deny'),
      () => {
        asked += 1;
        return 'allow';
      },
    ]);
    expect(asked).toBe(0);
  });

  it('shows a policy the six fields of the request and nothing it could change', async () => {
    let seen: PermissionRequest | undefined;
    const wide = { ...request, checkEdit: () => 'internal' };
    await decidePermission(boundNamed('probe'), wide, {
      scope,
      policies: [
        (asked) => {
          seen = asked;
          return 'allow';
        },
      ],
    });
    expect(seen).toEqual(request);
    expect(Object.isFrozen(seen)).toBe(true);
    expect(Object.isFrozen(seen?.agentPath)).toBe(true);
  });
});

describe('needsApproval as a function', () => {
  it('decides on the arguments and the scope', async () => {
    const need: Need = (input, asked) => input['path'] === 'a' && asked.agent === 'helper';
    expect((await decide([], need)).type).toBe('ask');
    expect((await decide([], () => false)).type).toBe('allow');
    expect((await decide([], async () => true)).type).toBe('ask');
  });

  it.each<[string, Need]>([
    [
      'throws',
      () => {
        throw new TypeError('no');
      },
    ],
    ['rejects', () => Promise.reject(new TypeError('no'))],
    ['gives no boolean', () => undefined as never],
  ])('asks when it %s', async (_, need) => {
    expect((await decide([], need)).type).toBe('ask');
  });

  it('is not asked where a policy decided already', async () => {
    let asked = 0;
    const need = () => {
      asked += 1;
      return true;
    };
    await decide([always('deny')], need);
    expect(asked).toBe(0);
  });
});

describe('a remembered decision', () => {
  const approve = { remembered: { decision: 'approve' } } as const;
  const deny = { remembered: { decision: 'deny', reason: 'never' } } as const;

  it('answers what would be asked', async () => {
    expect(await decide([], true, approve)).toEqual({ type: 'allow' });
    expect(await decide([always('ask')], false, approve)).toEqual({ type: 'allow' });
    expect(await decide([always('allow')], true, deny)).toEqual({ type: 'deny', reason: 'never' });
  });

  it('does not outvote a denial', async () => {
    expect((await decide([always('deny')], true, approve)).type).toBe('deny');
  });

  it('does not hold for a tool whose decisions are for one call', async () => {
    expect((await decide([], true, { ...approve, rememberable: false })).type).toBe('ask');
    expect((await decide([], false, { ...deny, rememberable: false })).type).toBe('allow');
  });
});

describe('the deadline of a policy', () => {
  const silent: PermissionPolicy = () => new Promise<Verdict>(() => undefined);

  it('denies in place of a policy that does not answer', async () => {
    const clock = fakeClock();
    const { signal } = new AbortController();
    const decision = decide([silent], false, { deadline: { clock, timeoutMs: 5, signal } });
    await clock.whenPending();
    await clock.advance(5);
    expect(await decision).toEqual({ type: 'deny', reason: 'the policy did not answer in time' });
    expect(clock.due()).toEqual([]);
  });

  it('ends with the turn', async () => {
    const clock = fakeClock();
    const controller = new AbortController();
    const decision = decide([silent], false, {
      deadline: { clock, timeoutMs: 5, signal: controller.signal },
    });
    controller.abort();
    expect(await decision).toEqual({ type: 'deny', reason: 'the turn was stopped' });
    expect(clock.due()).toEqual([]);
    const late = decide([silent], false, { deadline: { clock, timeoutMs: 5, signal: controller.signal } });
    expect((await late).type).toBe('deny');
  });

  it('leaves no timer and no listener behind when the policy answers', async () => {
    const clock = fakeClock();
    const { signal } = new AbortController();
    expect(
      await decide([async () => 'allow' as const], false, { deadline: { clock, timeoutMs: 5, signal } }),
    ).toEqual({
      type: 'allow',
    });
    expect(clock.due()).toEqual([]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('TD-05 the scope key', () => {
  const bash = boundNamed('bash');
  const key = (args: JsonObject) => scopeKeyOf(bash, args);

  it('TD-05 is shared by the tools that name the same approvalScope, whatever the arguments', () => {
    const click = boundNamed('click', { approvalScope: 'browser' });
    const type = boundNamed('type', { approvalScope: 'browser' });
    expect(scopeKeyOf(click, { x: 1 })).toBe(scopeKeyOf(type, { text: 'a' }));
    expect(scopeKeyOf(click, {})).not.toBe(scopeKeyOf(boundNamed('open', { approvalScope: 'files' }), {}));
    expect(scopeKeyOf(boundNamed('browser'), {})).not.toBe(scopeKeyOf(click, {}));
  });

  it('TD-05 is the same for the same command with other blanks', () => {
    expect(key({ command: '  git   status\t-s ' })).toBe(key({ command: 'git status -s' }));
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['another command', { command: 'git status' }, { command: 'git push' }],
    ['another path', { path: '/a' }, { path: '/b' }],
    ['another pattern', { pattern: '*.ts' }, { pattern: '*' }],
    ['a command on a second line', { command: 'echo a b' }, { command: 'echo a\nb' }],
    ['the same text in another argument', { path: 'x' }, { pattern: 'x' }],
    ['the path beside the command', { command: 'x', path: 'a' }, { command: 'x', path: 'b' }],
    [
      'a difference behind 512 characters',
      { command: `${'x'.repeat(600)}a` },
      { command: `${'x'.repeat(600)}b` },
    ],
    ['other arguments, where none says what is touched', { id: 1 }, { id: 2 }],
    ['a number where a text would count', { path: 1 }, { path: 2 }],
  ])('TD-05 differs for %s', (_, one, other) => {
    expect(key(one)).not.toBe(key(other));
  });

  it('TD-05 ignores what is not touched: content beside a path, the order of keys', () => {
    expect(key({ path: 'a', content: 'x' })).toBe(key({ content: 'y', path: 'a' }));
    expect(key({ a: 1, b: 2 })).toBe(key({ b: 2, a: 1 }));
  });

  it('TD-05 differs for another tool and for a changed definition', () => {
    expect(scopeKeyOf(boundNamed('sh'), { command: 'x' })).not.toBe(key({ command: 'x' }));
    expect(scopeKeyOf(boundNamed('bash', { description: 'Changed.' }), { command: 'x' })).not.toBe(
      key({ command: 'x' }),
    );
  });

  it('TD-05 tells nothing of the arguments', () => {
    expect(key({ command: 'curl -H "token: abc123"' })).toMatch(/^tool:bash:[0-9a-f]{64}$/);
  });
});
