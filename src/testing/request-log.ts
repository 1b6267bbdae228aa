import type { JsonValue } from '../ledger/content.ts';
import type { ParsedRequest } from './script.ts';

/** What is known of any request, however it came. */
export interface ReceivedRequest extends ParsedRequest {
  /** What a strict provider would refuse it for. */
  readonly violations: readonly string[];
}

/** How the answer to a request ended. */
export interface RequestEnd {
  /** True once the client went away before the answer ended. */
  readonly aborted: boolean;
  /** Resolves when the answer ended or the client went away. */
  readonly ended: Promise<void>;
}

/** One HTTP request as it arrived. */
export interface RecordedRequest extends ReceivedRequest, RequestEnd {
  /** The JSON body; `null` when it is not JSON. */
  readonly body: JsonValue;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Ends the entry of one request. Only the first call counts. */
export type EndRequest = (how: { readonly aborted: boolean }) => void;

/** Requests in order of arrival, and those who wait for one. */
export interface RequestLog<R extends ReceivedRequest> {
  readonly requests: readonly (R & RequestEnd)[];
  add(request: R): EndRequest;
  /** Resolves when the request of this ordinal has arrived. */
  arrived(ordinal: number): Promise<R & RequestEnd>;
}

/** Starts an empty {@link RequestLog}. */
export function createRequestLog<R extends ReceivedRequest>(): RequestLog<R> {
  type Entry = R & RequestEnd;
  const requests: Entry[] = [];
  const waiting = new Map<number, PromiseWithResolvers<Entry>>();
  return {
    requests,
    add(request) {
      const ended = Promise.withResolvers<void>();
      let aborted: boolean | undefined;
      // A getter, so that who holds the entry sees how it ended.
      const end: RequestEnd = {
        ended: ended.promise,
        get aborted() {
          return aborted ?? false;
        },
      };
      const entry: Entry = Object.defineProperties(
        { ...request, ...end },
        Object.getOwnPropertyDescriptors(end),
      );
      requests.push(entry);
      waiting.get(request.ordinal)?.resolve(entry);
      waiting.delete(request.ordinal);
      return (how) => {
        aborted ??= how.aborted;
        ended.resolve();
      };
    },
    arrived(ordinal) {
      const known = requests[ordinal];
      if (known !== undefined) return Promise.resolve(known);
      const waiter = waiting.get(ordinal) ?? Promise.withResolvers<Entry>();
      waiting.set(ordinal, waiter);
      return waiter.promise;
    },
  };
}

/** What makes the requests of a log unacceptable to a strict provider, one line a request. */
export function refusedRequests(requests: readonly ReceivedRequest[]): readonly string[] {
  return requests
    .filter(({ violations }) => violations.length > 0)
    .map(({ ordinal, violations }) => `request ${ordinal}: ${violations.join('; ')}`);
}
