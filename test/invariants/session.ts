import { calls, executions } from './calls.ts';
import { chain, epochs } from './chain.ts';
import { approvals, permissions, steering } from './people.ts';
import { beforeRequest, pairs, steeringIn } from './requests.ts';
import { ends, turns } from './turns.ts';
import type { Witness } from './witness.ts';

/** What is broken of one session, one line each, beginning with the invariant. Empty = all holds. */
export function violationsOf({ records, requests = [], entries = [] }: Witness): readonly string[] {
  return [
    ...chain(records),
    ...epochs(records),
    ...turns(records),
    ...ends(records),
    ...calls(records),
    ...executions(records, entries),
    ...requests.flatMap((request, at) => [
      ...beforeRequest(request, at),
      ...pairs(request, at),
      ...steeringIn(request, at),
    ]),
    ...permissions(records),
    ...steering(records),
    ...approvals(records),
  ];
}
