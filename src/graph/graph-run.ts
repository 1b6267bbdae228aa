import { failureOf } from '../agent/thrown-failure.ts';
import type { LastOutcome } from '../agent/turn-outcome.ts';
import { SwarmError } from '../errors.ts';
import { errorText } from '../tools/error-text.ts';
import { type Admission, admit } from './admission.ts';
import { workSessionId } from './enter-child.ts';
import { closeGraph, leaveGraph, pauseGraph } from './graph-end.ts';
import { INPUT_NODE } from './graph-node.ts';
import { planGraph } from './graph-plan.ts';
import { commitFacts, type GraphScope, type TurnRecord } from './graph-scope.ts';
import { runWork } from './run-work.ts';
import { isActive, isChild, isSettled, takenInputs, type WorkState } from './work-state.ts';

/**
 * Drives one graph to its end: a pass over the schedule after each change, each work beside the others, and an end only
 * when all of them have settled. Everything it knows is in the schedule, so whoever takes the run up goes on where the
 * facts stop.
 */
export class GraphRun {
  readonly #scope: GraphScope;
  /** Works under way in this process. */
  readonly #running = new Map<string, Promise<void>>();
  /** Works that were under way here and lie in the ledger. */
  readonly #left = new Set<WorkState>();
  /** Works that were settled without completing, when they were last looked at. */
  #lookedAt = 0;
  #broken: unknown;

  constructor(scope: GraphScope) {
    this.#scope = scope;
  }

  /** Never rejects. */
  async run(): Promise<LastOutcome> {
    const scope = this.#scope;
    const { lost } = scope.log;
    const onLost = () => scope.stop.stop({ type: 'detached', reason: LOST, code: 'session-lost' });
    lost.addEventListener('abort', onLost, { once: true });
    if (lost.aborted) onLost();
    try {
      await this.#begin();
      for (;;) {
        const changed = scope.changes.next;
        await this.#pass();
        if (this.#running.size === 0 && !this.#isToFinish()) break;
        await changed;
      }
      return await this.#end();
    } catch (error) {
      return await this.#break(error);
    } finally {
      lost.removeEventListener('abort', onLost);
    }
  }

  /** The schedule of a new run; works an earlier process left under way. */
  async #begin(): Promise<void> {
    const { schedule, machine } = this.#scope;
    if (schedule.revision === 0) {
      const proposal = schedule.propose(planGraph(this.#scope.graph, this.#scope.limits.fanOut));
      if (proposal.type !== 'new')
        throw new SwarmError('invalid-definition', 'the graph cannot be scheduled');
      const input = { work: INPUT_NODE, node: INPUT_NODE, attempt: 1, durationMs: 0 };
      await commitFacts(this.#scope, [
        { type: 'graph.updated', data: proposal.data },
        { type: 'node.finished', data: { ...input, status: 'completed' } },
      ]);
      machine.send({ type: 'UPDATED', revision: schedule.revision });
      return;
    }
    // One that is taken up to be ended closes without going on.
    if (machine.state === 'paused') machine.send({ type: 'RESUMED' });
    // What ended the run may be the last fact its process left.
    this.#stopOnFailure();
    this.#lookedAt = 0;
    for (const work of schedule.works.values()) if (isActive(work.status)) this.#start(work);
  }

  /** Does what can be done, until nothing more follows from it. */
  async #pass(): Promise<void> {
    const scope = this.#scope;
    for (;;) {
      if (this.#broken !== undefined || scope.stop.cause?.type === 'detached') return;
      await this.#finishIfStopped();
      this.#endLeft();
      const { limits } = scope;
      // Where none may be at work, the first is refused, and says why.
      const children = Math.max(1, limits.fanOut);
      const bounds = { activations: limits.graph.activations, children };
      const admission = admit(scope.schedule, bounds);
      const facts = this.#settling(admission);
      if (facts.length > 0) {
        await commitFacts(scope, facts);
        this.#stopOnFailure();
        continue;
      }
      const admitted = this.#mayAdmit() ? admission.admit : [];
      if (admitted.length === 0) break;
      await commitFacts(
        scope,
        admitted.map((work) => this.#claimFact(work)),
      );
      for (const work of admitted) this.#start(work);
    }
    const { machine } = scope;
    if (machine.state === 'reconciling' || machine.state === 'closing') machine.send({ type: 'PASS_DONE' });
  }

  /** A graph that ends takes up what lies in the ledger for somebody, to end it. */
  #endLeft(): void {
    if (this.#scope.stop.cause === undefined) return;
    for (const work of this.#left) this.#start(work);
    this.#left.clear();
  }

  #mayAdmit(): boolean {
    const { stop } = this.#scope;
    return stop.cause === undefined && !stop.afterStep;
  }

  /** Whether a stop came that no pass has seen. Else, where a pass has left nothing at work, nothing more can happen. */
  #isToFinish(): boolean {
    const { stop, schedule } = this.#scope;
    if (this.#broken !== undefined || stop.cause === undefined || stop.cause.type === 'detached')
      return false;
    return schedule.finish === undefined;
  }

  /** Nothing more is begun: what was not claimed is told of as left out. */
  async #finishIfStopped(): Promise<void> {
    const { stop, schedule } = this.#scope;
    if (stop.cause === undefined || stop.cause.type === 'detached' || schedule.finish !== undefined) return;
    const finish = { results: [], reason: stop.cause.type };
    const proposal = schedule.propose({ update: 'end', finish });
    if (proposal.type !== 'new') return;
    await commitFacts(this.#scope, [{ type: 'graph.updated', data: proposal.data }]);
  }

  /** Facts that need nothing to run. */
  #settling({ ready, skip, gather, cancel }: Admission): readonly TurnRecord[] {
    return [
      ...ready.map((work) => this.#readyFact(work)),
      ...skip.map(({ work, reason }) => {
        const data = { work: work.work, node: work.operator.spec.operator, reason };
        return { type: 'node.skipped' as const, data };
      }),
      ...gather.map((work) => this.#gatherFact(work)),
      // One that is under way here settles itself.
      ...cancel
        .filter(({ work }) => !this.#running.has(work.work))
        .map(({ work, reason }) => cancelFact(work, reason)),
    ];
  }

  /** What a work runs on, or that its condition leaves it out; a condition that throws fails it. */
  #readyFact(work: WorkState): TurnRecord {
    const { values, limits } = this.#scope;
    const node = values.nodeOf(work);
    const place = { work: work.work, operator: work.operator.spec.operator };
    const inputs = takenInputs(work).map((input) => input.work);
    if (node === undefined || work.itemOf !== undefined) {
      return { type: 'graph.readied', data: { ...place, inputs } };
    }
    try {
      // The builder held both to what the edge brings.
      if (node.when !== undefined && !node.when(values.edgeOf(work) as never)) {
        return { type: 'node.skipped', data: { work: work.work, node: node.name, reason: 'condition' } };
      }
      if (node.type !== 'map') return { type: 'graph.readied', data: { ...place, inputs } };
      const list = values.listOf(work);
      if (!Array.isArray(list))
        return failedFact(work, 'node-input', `${work.work} runs over a list, not this`);
      if (list.length > limits.graph.items) {
        return failedFact(
          work,
          'map-limit',
          `${work.work}: ${list.length} items, at most ${limits.graph.items}`,
        );
      }
      return { type: 'graph.readied', data: { ...place, inputs, items: list.length } };
    } catch (error) {
      return failedFact(work, 'node-failed', `${work.work}: ${errorText(error, limits)}`);
    }
  }

  #gatherFact(work: WorkState): TurnRecord {
    const data = { work: work.work, node: work.operator.spec.operator, attempt: 1, durationMs: 0 };
    if (work.itemTally.failed === 0) return { type: 'node.finished', data: { ...data, status: 'completed' } };
    const error = this.#scope.values.errorOf(work);
    return { type: 'node.finished', data: { ...data, status: 'failed', error } };
  }

  #claimFact(work: WorkState): TurnRecord {
    const { schedule } = this.#scope;
    const { operator } = work;
    return {
      type: 'graph.claimed',
      data: {
        work: work.work,
        operator: operator.spec.operator,
        activation: operator.works.indexOf(work) + 1,
        revision: schedule.revision,
        ...(isChild(work) ? { child: workSessionId(this.#scope, work.work, 1) } : {}),
      },
    };
  }

  #start(work: WorkState): void {
    const scope = this.#scope;
    scope.machine.send({ type: 'WORK_STARTED', work: work.work });
    const done = runWork(scope, work)
      .catch((error: unknown) => {
        this.#broken ??= error;
        // Nothing can be written any more: what is under way ends with the process's hold on the session.
        scope.stop.stop({ type: 'detached', reason: failureOf(error).message, code: 'session-lost' });
      })
      .then(() => {
        this.#running.delete(work.work);
        if (!isSettled(work.status)) this.#left.add(work);
        scope.machine.send({ type: 'WORK_SETTLED', work: work.work, status: work.status });
        this.#stopOnFailure();
        scope.changes.tell();
      });
    this.#running.set(work.work, done);
  }

  /** A failure that no join collects ends the run; items of a map end with the first of them that fails. */
  #stopOnFailure(): void {
    const { schedule, values, stop, graph, mapStops } = this.#scope;
    const settled = schedule.count('failed') + schedule.count('skipped') + schedule.count('cancelled');
    if (settled === this.#lookedAt) return;
    this.#lookedAt = settled;
    for (const work of schedule.works.values()) {
      if (work.inputClass !== 'failed') continue;
      const node = values.nodeOf(work);
      if (work.itemOf !== undefined) mapStops.get(work.itemOf.of.work)?.own.abort();
      else if (node !== undefined && !graph.shape.contained.has(node.name)) {
        stop.stop({ type: 'failed', failure: values.errorOf(work) });
        return;
      }
    }
  }

  async #end(): Promise<LastOutcome> {
    const scope = this.#scope;
    const { stop } = scope;
    if (this.#broken !== undefined) return this.#break(this.#broken);
    if (stop.cause?.type === 'detached') {
      return leaveGraph(scope, { kind: stop.cause.code, message: stop.cause.reason });
    }
    if (stop.cause !== undefined) return closeGraph(scope);
    if (scope.parked.length > 0) return pauseGraph(scope);
    const isOpen = [...scope.schedule.works.values()].some(({ status }) => !isSettled(status));
    if (stop.afterStep && isOpen) {
      stop.stop({ type: 'cancelled', reason: 'stopped after the nodes that were under way' });
      await this.#pass();
    }
    return closeGraph(scope);
  }

  async #break(error: unknown): Promise<LastOutcome> {
    const failure = failureOf(error);
    const { stop, machine } = this.#scope;
    stop.stop({ type: 'detached', reason: failure.message, code: 'session-lost' });
    await Promise.all(this.#running.values());
    machine.send({ type: 'COMMIT_FAILED', kind: failure.kind });
    return leaveGraph(this.#scope, failure);
  }
}

const LOST = 'the session has another owner, or its store failed';

function cancelFact(work: WorkState, reason: string): TurnRecord {
  const attempt = work.lastAttempt < 0 ? 0 : work.lastAttempt + 1;
  const place = { work: work.work, node: work.operator.spec.operator, attempt, durationMs: 0 };
  const error = { kind: 'cancelled', message: reason };
  return { type: 'node.finished', data: { ...place, status: 'cancelled', error } };
}

function failedFact(work: WorkState, kind: string, message: string): TurnRecord {
  const place = { work: work.work, node: work.operator.spec.operator, attempt: 0, durationMs: 0 };
  return { type: 'node.finished', data: { ...place, status: 'failed', error: { kind, message } } };
}
