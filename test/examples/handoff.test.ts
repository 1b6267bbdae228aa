import { expect, it } from 'vitest';
import { runProgram } from './run-example.ts';

it('T16 an agent hands over to another one, and a circle stops at its limit', async () => {
  const { code, stdout, stderr } = await runProgram('examples/handoff.ts');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n')).toEqual([
    'front-desk: transfer_to_billing success',
    'front-desk hands over to billing',
    'billing: refund success',
    'Done: 42 EUR for A-17 are on their way.',
    'handoff-limit: the run may have 2 handoffs, and front-desk > billing > front-desk > billing would be one more',
  ]);
});
