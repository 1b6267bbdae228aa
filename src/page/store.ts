import type { RunEvent } from '../events/event-schemas.ts';
import type { PendingRequest } from './api.ts';
import type { ChartLayout } from './chart-layout.ts';
import { applyEvent, modelOf } from './model.ts';
import { ancestry, createModel, type Model } from './node-tree.ts';
import type { ActorNode } from './nodes.ts';
import type { Hello, Move, MoveBatch } from './stream-client.ts';

/** Events the page keeps; beyond it a person is told to look at fewer runs. */
const MAX_EVENTS = 200_000;
/** Machines whose transitions are kept, and how many of each: those that moved last. */
const MAX_MOVED = 4_000;
const MAX_MOVES = 400;
/** Least time between two pictures. */
const FRAME_MS = 60;

/** How long a message can be read. */
const MESSAGE_MS = 8_000;

/** What a person looks at: one of the views beside the tree. */
export type ViewName = 'chart' | 'sequence' | 'tools' | 'events' | 'compare';

/** An earlier moment that is looked at. */
export interface Past {
  readonly cursor: number;
  readonly model: Model;
}

/** All that the page knows, and what a person chose. Views draw it when told that it changed. */
export class Store {
  charts: readonly ChartLayout[] = [];
  hello: Hello | undefined;
  connection: 'connecting' | 'live' | 'lost' | 'refused' = 'connecting';
  /** History is complete up to now. */
  isReady = false;
  readonly events: RunEvent[] = [];
  /** Events left out as there were too many. */
  overflow = 0;
  /** Transitions, and facts of a bus, that the server could not keep for us. */
  droppedMoves = 0;
  missedFacts = 0;
  /** Why the server may be behind, in its words. */
  trouble: string | undefined;
  pending: readonly PendingRequest[] = [];
  selected: string | undefined;
  view: ViewName = 'chart';
  past: Past | undefined;
  message: { readonly text: string; readonly isError: boolean } | undefined;
  readonly #live = createModel();
  readonly #states = new Map<string, string>();
  readonly #moves = new Map<string, Move[]>();
  /** Events by the run they belong to, and the run of each session. */
  readonly #runs = new Map<string, RunEvent[]>();
  readonly #runOf = new Map<string, string>();
  #version = 0;
  #clockOffset = 0;
  #frame: number | undefined;
  /** How long the last picture took: at least as much time is left for whoever uses the page. */
  #drawMs = 0;
  #drawnAt = 0;
  readonly #draw: () => void;

  constructor(draw: () => void) {
    this.#draw = draw;
  }

  /** What is shown: the run as it is, or as it was. */
  get model(): Model {
    return this.past?.model ?? this.#live;
  }

  get live(): Model {
    return this.#live;
  }

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  /** Milliseconds since the epoch, by the clock of the server; of an earlier moment, when it was. */
  now(): number {
    return this.past === undefined ? Date.now() + this.#clockOffset : this.past.model.at;
  }

  get selectedNode(): ActorNode | undefined {
    return this.selected === undefined ? undefined : this.model.nodes.get(this.selected);
  }

  /** The state of a live machine; undefined of one that is not live, and of any while an earlier moment is shown. */
  machineState(id: string): string | undefined {
    return this.past === undefined ? this.#states.get(id) : undefined;
  }

  movesOf(id: string): readonly Move[] {
    return this.#moves.get(id) ?? [];
  }

  /** Events of the run that the selection is part of, else of the newest one. */
  runEvents(): readonly RunEvent[] {
    const session = (this.selected ?? this.#live.roots.at(-1) ?? '').split(/[./]/)[0] ?? '';
    // A child that said nothing yet is part of the run of whoever spoke of it.
    const above = [...ancestry(this.#live, session)].find(({ session: id }) => this.#runOf.has(id));
    return this.#runs.get(this.#runOf.get(above?.session ?? session) ?? session) ?? [];
  }

  begin(hello: Hello, isResumed: boolean): void {
    this.hello = hello;
    this.trouble = undefined;
    this.#clockOffset = hello.now - Date.now();
    this.#setLive(hello.instances);
    if (!isResumed) this.isReady = false;
    this.changed();
  }

  forget(): void {
    Object.assign(this.#live, createModel());
    this.events.length = 0;
    this.#runs.clear();
    this.#runOf.clear();
    this.past = undefined;
    this.overflow = 0;
    this.missedFacts = 0;
    this.isReady = false;
    this.changed();
  }

  addFacts(events: readonly RunEvent[]): void {
    for (const event of events) {
      // After a cut the server goes on from what we had; a repeated event is one we have.
      if (event.cursor !== undefined && event.cursor <= this.#live.cursor) continue;
      this.#keep(event);
      applyEvent(this.#live, event);
    }
    this.#selectFirst();
    this.changed();
  }

  addMoves({ moves, dropped, instances }: MoveBatch): void {
    this.droppedMoves += dropped;
    // A way with a hole in it is none: the server tells it from the facts.
    if (dropped > 0) this.#moves.clear();
    for (const move of moves) {
      if (move.final === true) this.#states.delete(move.id);
      else this.#states.set(move.id, move.to);
      const known = this.#moves.get(move.id) ?? [];
      this.#moves.delete(move.id);
      this.#moves.set(move.id, known);
      if (known.length < MAX_MOVES) known.push(move);
    }
    for (const id of this.#moves.keys()) {
      if (this.#moves.size <= MAX_MOVED) break;
      this.#moves.delete(id);
    }
    if (instances !== undefined) this.#setLive(instances);
    this.changed();
  }

  select(id: string | undefined): void {
    this.selected = id;
    this.changed();
  }

  show(view: ViewName): void {
    this.view = view;
    this.changed();
  }

  /** Shows the run as it was after the event at `cursor`; as it is with undefined. */
  goTo(cursor: number | undefined): void {
    if (cursor === undefined) this.past = undefined;
    else {
      const model = modelOf(this.events.filter((event) => (event.cursor ?? 0) <= cursor));
      this.past = { cursor, model };
    }
    this.changed();
  }

  say(text: string, isError = false): void {
    const message = { text, isError };
    this.message = message;
    this.changed();
    setTimeout(() => {
      if (this.message === message) this.message = undefined;
      this.changed();
    }, MESSAGE_MS);
  }

  /** Draws soon, and not more often than eyes can follow. */
  changed(): void {
    this.#version += 1;
    const pause = Math.max(FRAME_MS, this.#drawMs * 2);
    this.#frame ??= window.setTimeout(
      () => {
        this.#frame = undefined;
        const began = performance.now();
        this.#draw();
        this.#drawnAt = performance.now();
        this.#drawMs = this.#drawnAt - began;
      },
      Math.max(0, this.#drawnAt + pause - performance.now()),
    );
  }

  #keep(event: RunEvent): void {
    if (this.events.length >= MAX_EVENTS) {
      this.overflow += 1;
      return;
    }
    this.events.push(event);
    this.#runOf.set(event.session, event.root);
    const run = this.#runs.get(event.root);
    if (run === undefined) this.#runs.set(event.root, [event]);
    else run.push(event);
  }

  #setLive(instances: Hello['instances']): void {
    this.#states.clear();
    for (const { id, state } of instances) this.#states.set(id, state);
  }

  #selectFirst(): void {
    if (this.selected !== undefined) return;
    this.selected = this.#live.roots.at(-1);
  }
}
