import type { RunEvent } from '../events/event-schemas.ts';
import type { PendingApproval } from '../tools/approvals.ts';

/** A request that waits for the person at this terminal. */
export interface QueuedApproval {
  readonly request: PendingApproval;
  /** Whether a decision may hold for longer than the call; unknown for requests of an earlier process. */
  readonly isRememberable: boolean;
}

/** Open requests of a run, first in, first out, kept up to date by its events. */
export class ApprovalQueue {
  readonly #pending: (sessionId: string) => Promise<readonly PendingApproval[]>;
  #open: readonly QueuedApproval[] = [];

  constructor(pending: (sessionId: string) => Promise<readonly PendingApproval[]>) {
    this.#pending = pending;
  }

  get open(): readonly QueuedApproval[] {
    return this.#open;
  }

  /** Takes up what an earlier process left open in a session. */
  async restore(sessionId: string): Promise<void> {
    for (const request of await this.#pending(sessionId)) this.#add({ request, isRememberable: true });
  }

  /** To be called with every event, one after the other. */
  async note(event: RunEvent): Promise<void> {
    switch (event.type) {
      case 'approval.requested': {
        const found = await this.#pending(event.session);
        const request = found.find(({ id }) => id === event.data.request);
        // One that was decided before it could be looked at is no question any more.
        if (request !== undefined) this.#add({ request, isRememberable: event.data.rememberable });
        return;
      }
      case 'approval.decided':
      case 'approval.expired':
        this.#drop((queued) => queued.request.id === event.data.request);
        return;
      case 'turn.closed':
        this.#drop((queued) => queued.request.sessionId === event.session);
        return;
      default:
        return;
    }
  }

  #add(queued: QueuedApproval): void {
    this.#drop(({ request }) => request.id === queued.request.id);
    this.#open = [...this.#open, queued];
  }

  #drop(isGone: (queued: QueuedApproval) => boolean): void {
    this.#open = this.#open.filter((queued) => !isGone(queued));
  }
}
