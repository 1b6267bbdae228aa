import type { JsonValue } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Failure } from '../ledger/records.ts';
import type { Limits } from '../limits.ts';
import { toPlainJson } from '../tools/plain-json.ts';
import type { AnyGraph } from './define-graph.ts';
import { type GraphNode, INPUT_NODE } from './graph-node.ts';
import { nodeName, workName } from './graph-plan.ts';
import type { Schedule } from './schedule.ts';
import type { NodeFinished, WorkState } from './work-state.ts';

/** What is written of a value: itself, or where it lies. */
export type StoredValue = Pick<NodeFinished, 'output' | 'outputRef'>;

/**
 * A value as JSON, and what is written of it. What follows in the graph gets the JSON, so that a run that is taken up
 * again sees what it saw before.
 * @throws SwarmError 'artifact-too-large'
 */
export async function storeValue(
  value: unknown,
  ledger: Pick<Ledger, 'putArtifact'>,
  limits: Limits,
): Promise<{ readonly json: JsonValue | undefined; readonly stored: StoredValue }> {
  if (value === undefined) return { json: undefined, stored: {} };
  const json = toPlainJson(value);
  const text = JSON.stringify(json);
  if (text.length * 3 <= limits.ledger.maxInlineBytes) return { json, stored: { output: json } };
  const outputRef = await ledger.putArtifact(Buffer.from(text), 'application/json');
  return { json, stored: { outputRef } };
}

/** Values of the works of one run, by their facts. Those of joins, maps and loops are made of others'. */
export class WorkValues {
  readonly #schedule: Schedule;
  readonly #values = new Map<string, unknown>();
  readonly #lists = new Map<string, readonly unknown[]>();
  readonly #nodes: ReadonlyMap<string, GraphNode>;

  constructor(graph: AnyGraph, schedule: Schedule, input: unknown) {
    this.#schedule = schedule;
    this.#nodes = new Map(graph.nodes.map((node) => [node.name, node]));
    this.#values.set(INPUT_NODE, input);
  }

  /** The node a work belongs to; none for the input of the run. */
  nodeOf(work: WorkState): GraphNode | undefined {
    return this.#nodes.get(nodeName(work.work));
  }

  note(work: WorkState, value: unknown): void {
    this.#values.set(work.work, value);
  }

  /** Reads what earlier processes stored. @throws SwarmError of the ledger */
  async load(ledger: Pick<Ledger, 'getArtifact'>): Promise<void> {
    for (const work of this.#schedule.works.values()) {
      const { outcome } = work;
      if (outcome?.status !== 'completed' || work.work === INPUT_NODE) continue;
      const { output, outputRef } = outcome;
      if (outputRef === undefined) this.#values.set(work.work, output);
      else {
        const bytes = await ledger.getArtifact(outputRef);
        this.#values.set(work.work, JSON.parse(Buffer.from(bytes).toString()));
      }
    }
  }

  /** What a work that completed yields. */
  of(work: WorkState): unknown {
    const node = this.nodeOf(work);
    if (work.itemOf !== undefined || node === undefined) return this.#values.get(work.work);
    if (node.type === 'map') return work.items.map((item) => this.#values.get(item.work));
    if (node.type === 'loop') return this.#lastRound(node);
    return node.target === undefined ? this.#joined(work, node) : this.#values.get(work.work);
  }

  /** What its edges bring a work: what its target is given, but for a mapper. */
  edgeOf(work: WorkState): unknown {
    const { itemOf } = work;
    if (itemOf !== undefined) {
      const list = this.listOf(itemOf.of);
      return Array.isArray(list) ? list[itemOf.index] : undefined;
    }
    const node = this.nodeOf(work);
    if (node?.type === 'join') return this.#joined(work, node);
    const [first] = work.inputs;
    return first === undefined ? undefined : this.of(first);
  }

  /** The list a map runs over. Throws what its `over` throws. */
  listOf(work: WorkState): unknown {
    const known = this.#lists.get(work.work);
    if (known !== undefined) return known;
    const over = this.nodeOf(work)?.over;
    const edge = this.edgeOf(work);
    // The builder held the types of both to each other.
    const list: unknown = over === undefined ? edge : over(edge as never);
    if (Array.isArray(list)) this.#lists.set(work.work, list);
    return list;
  }

  /** Why a work has no value. */
  errorOf(work: WorkState): Failure {
    const { outcome, skipped, stopped } = work;
    if (outcome?.error !== undefined) return outcome.error;
    // The one that failed, not those that were stopped because of it.
    const item = work.items.find(({ status }) => status === 'failed');
    if (item !== undefined) return this.errorOf(item);
    if (skipped === 'input-failed') {
      const input = work.inputs.find(({ inputClass }) => inputClass === 'failed');
      if (input !== undefined) return this.errorOf(input);
    }
    if (skipped === 'join-unmet') {
      const { completed } = work.tally;
      const { need = work.inputs.length } = work.spec;
      const message = `the join ${work.work} needs ${need} of its branches, and ${completed} completed`;
      return { kind: 'join-unmet', message };
    }
    if (skipped !== undefined) return { kind: skipped, message: `${work.work} was skipped` };
    return { kind: 'cancelled', message: stopped?.reason ?? `${work.work} was stopped` };
  }

  /** Branches by the names of their nodes, in their order; what was skipped is absent. */
  #joined(work: WorkState, node: GraphNode): Readonly<Record<string, unknown>> {
    const taken = new Set(work.readied?.inputs);
    const branches = work.inputs.filter((input) => taken.has(input.work));
    return Object.fromEntries(
      branches.map((input) => [nodeName(input.work), this.#branch(input, node.onError)]),
    );
  }

  #branch(input: WorkState, onError: GraphNode['onError']): unknown {
    if (onError === 'fail') return this.of(input);
    if (input.inputClass === 'completed') return { ok: true, output: this.of(input) };
    const { kind, message } = this.errorOf(input);
    return { ok: false, error: { kind, message } };
  }

  /** The last round that has a result; a later one may have been left out. */
  #lastRound({ from: [end = ''] }: GraphNode): unknown {
    let value: unknown;
    for (let round = 1; ; round += 1) {
      const work = this.#schedule.works.get(workName(end, round));
      if (work === undefined) return value;
      if (work.inputClass === 'completed') value = this.of(work);
    }
  }
}
