import type { RunEvent } from '../events/event-schemas.ts';
import type { PendingApproval } from '../tools/approvals.ts';

/** Open requests of a run, first in, first out, kept up to date by its events. */
export class ApprovalQueue {
  readonly #pending: (sessionId: string) => Promise<readonly PendingApproval[]>;
  #open: readonly PendingApproval[] = [];

  constructor(pending: (sessionId: string) => Promise<readonly PendingApproval[]>) {
    this.#pending = pending;
  }

  get open(): readonly PendingApproval[] {
    return this.#open;
  }

  /** Takes up what an earlier process left open in a session. */
  async restore(sessionId: string): Promise<void> {
    for (const request of await this.#pending(sessionId)) this.#add(request);
  }

  /** To be called with every event, one after the other. */
  async note(event: RunEvent): Promise<void> {
    switch (event.type) {
      case 'approval.requested': {
        const found = await this.#pending(event.session);
        const request = found.find(({ id }) => id === event.data.request);
        // One that was decided before it could be looked at is no question any more.
        if (request !== undefined) this.#add(request);
        return;
      }
      case 'approval.decided':
      case 'approval.expired':
        this.#drop(({ id }) => id === event.data.request);
        return;
      case 'turn.closed':
        this.#drop(({ sessionId }) => sessionId === event.session);
        return;
      default:
        return;
    }
  }

  #add(request: PendingApproval): void {
    this.#drop(({ id }) => id === request.id);
    this.#open = [...this.#open, request];
  }

  #drop(isGone: (request: PendingApproval) => boolean): void {
    this.#open = this.#open.filter((request) => !isGone(request));
  }
}
