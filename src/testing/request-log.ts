import type { JsonValue } from '../ledger/content.ts';
import type { ParsedRequest } from './script.ts';

/** One request as it arrived. */
export interface RecordedRequest extends ParsedRequest {
  /** The JSON body; `null` when it is not JSON. */
  readonly body: JsonValue;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** What a strict provider would refuse it for. */
  readonly violations: readonly string[];
  /** True once the client went away before the answer ended. */
  readonly aborted: boolean;
  /** Resolves when the answer ended or the client went away. */
  readonly ended: Promise<void>;
}

/** Ends the entry of one request. */
export type EndRequest = (how: { readonly aborted: boolean }) => void;

/** Requests in order of arrival, and those who wait for one. */
export interface RequestLog {
  readonly requests: readonly RecordedRequest[];
  add(request: Omit<RecordedRequest, 'aborted' | 'ended'>): EndRequest;
  /** Resolves when the request of this ordinal has arrived. */
  arrived(ordinal: number): Promise<RecordedRequest>;
}

/** Starts an empty {@link RequestLog}. */
export function createRequestLog(): RequestLog {
  const requests: RecordedRequest[] = [];
  const waiting = new Map<number, PromiseWithResolvers<RecordedRequest>>();
  return {
    requests,
    add(request) {
      const ended = Promise.withResolvers<void>();
      let aborted = false;
      // A getter, so that who holds the entry sees how it ended.
      const entry: RecordedRequest = {
        ...request,
        ended: ended.promise,
        get aborted() {
          return aborted;
        },
      };
      requests.push(entry);
      waiting.get(request.ordinal)?.resolve(entry);
      waiting.delete(request.ordinal);
      return (how) => {
        aborted = how.aborted;
        ended.resolve();
      };
    },
    arrived(ordinal) {
      const known = requests[ordinal];
      if (known !== undefined) return Promise.resolve(known);
      const waiter = waiting.get(ordinal) ?? Promise.withResolvers<RecordedRequest>();
      waiting.set(ordinal, waiter);
      return waiter.promise;
    },
  };
}
