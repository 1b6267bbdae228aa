import type { Key } from 'node:readline';
import type { RunResult } from '../agent/run-result.ts';
import type { Clock } from '../clock.ts';
import type { RunEvent } from '../events/event-schemas.ts';
import type { ApprovalDecision } from '../tools/approval-decisions.ts';
import { ApprovalDialog } from './approval-dialog.ts';
import type { ApprovalQueue } from './approval-queue.ts';
import type { Glyphs } from './glyphs.ts';
import { growTree } from './grow-tree.ts';
import { type Keyboard, openKeyboard } from './keyboard.ts';
import { textLine } from './line.ts';
import { liveFrame } from './live-frame.ts';
import { LiveRegion, RESTORE_TERMINAL } from './live-region.ts';
import { approveCommand, type RunPlace } from './next-commands.ts';
import { answerLines, endingLines, type ResultPlace } from './result-lines.ts';
import { emptyTree, type RunTree } from './run-tree.ts';
import type { RunView } from './run-view.ts';
import type { TextWriter } from './text-writer.ts';
import { treeLines } from './tree-lines.ts';
import { SPINNER_MS } from './view-node.ts';

/** What a live view needs. */
export interface LiveViewParts {
  readonly out: TextWriter;
  readonly stdin: NodeJS.ReadStream;
  readonly clock: Clock;
  readonly glyphs: Glyphs;
  readonly place: RunPlace;
  readonly queue: ApprovalQueue;
  decide(id: string, decision: ApprovalDecision): Promise<void>;
  /** Ctrl-C, which is a key while the keyboard is taken. */
  interrupt(): void;
}

/** Characters of the answer that are kept while it is written: more than the rows for it show. */
const TEXT_CHARS = 2_048;

/** Time after a change of size in which nothing is drawn: a window is dragged through many sizes. */
const RESIZE_MS = 100;

/** The run as a tree that is redrawn in place, with the open request below it. */
export class LiveView implements RunView {
  readonly wantsContent = true;
  readonly #parts: LiveViewParts;
  readonly #region: LiveRegion;
  readonly #startedAt: number;
  #tree: RunTree;
  #text = '';
  #isStepOver = false;
  #notice: string | undefined;
  #dialog: ApprovalDialog | undefined;
  #keyboard: Keyboard | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** A slow terminal gets the newest frame when it has taken the last one, not all in between. */
  #drawing: Promise<void> | undefined;
  #ended = false;
  #isSuspended = false;
  #resizedAt = Number.NEGATIVE_INFINITY;
  readonly #onResize = () => {
    this.#resizedAt = this.#parts.clock.monotonicMs();
  };
  readonly #onContinue = () => this.#takeTerminal();
  readonly #onExit = () => this.#restoreNow();

  constructor(parts: LiveViewParts) {
    this.#parts = parts;
    this.#region = new LiveRegion(parts.out);
    this.#startedAt = parts.clock.now();
    this.#tree = emptyTree(parts.place.sessionId);
  }

  async start(): Promise<void> {
    process.on('exit', this.#onExit);
    process.on('SIGCONT', this.#onContinue);
    process.stdout.on('resize', this.#onResize);
    this.#keyboard = openKeyboard(this.#parts.stdin, (text, key) => this.#press(text, key));
    this.#timer = setInterval(() => this.#draw(), SPINNER_MS);
    await this.#parts.queue.restore(this.#parts.place.sessionId);
    this.#nextDialog();
    this.#draw();
  }

  async event(event: RunEvent): Promise<void> {
    this.#tree = growTree(this.#tree, event);
    // What it said stays in view while its calls run; what comes next is another step's.
    if (event.kind === 'step' && event.session === this.#tree.root)
      this.#isStepOver = event.name !== 'started';
    await this.#parts.queue.note(event);
    this.#nextDialog();
  }

  text(delta: string): void {
    if (this.#isStepOver) this.#text = '';
    this.#isStepOver = false;
    this.#text += delta;
    // Cut seldom and by much: with every cut the lines are wrapped anew.
    if (this.#text.length > 2 * TEXT_CHARS) this.#text = this.#text.slice(-TEXT_CHARS);
  }

  notice(text: string): void {
    this.#notice = text;
    this.#draw();
  }

  printed(line: string): void {
    if (this.#ended) void this.#parts.out.say(line);
    else void this.#region.print([textLine(line)]).then(() => this.#draw());
  }

  async end(result: RunResult<unknown>, how: Pick<ResultPlace, 'durationMs' | 'isOpen'>): Promise<void> {
    this.#release();
    await this.#drawing;
    const { out, glyphs, clock, place } = this.#parts;
    await this.#region.end();
    const answer = answerLines(result);
    const gap = answer.length === 0 ? [] : [textLine('')];
    await out.lines([
      ...treeLines(this.#tree, out.size().columns, { glyphs, now: clock.now(), isLive: false }),
      ...gap,
      ...answer,
      textLine(''),
      ...endingLines(result, { ...place, ...how }),
    ]);
  }

  #press(text: string | undefined, key: Key): void {
    if (key.ctrl === true && key.name === 'c') this.#parts.interrupt();
    else if (key.ctrl === true && key.name === 'z') this.#suspend();
    else if (key.sequence === '\u001c') this.#quit();
    else this.#dialog?.press(text, key);
    this.#draw();
  }

  /** Shows the oldest open request, and leaves the one that was shown where it is decided elsewhere. */
  #nextDialog(): void {
    const request = this.#parts.queue.open[0];
    if (request?.id === this.#dialog?.state.request.id) return;
    this.#dialog?.close();
    this.#dialog =
      // Without a keyboard nobody could answer: the tree says what waits, the hint how it is decided.
      request === undefined || this.#keyboard === undefined
        ? undefined
        : new ApprovalDialog({
            request,
            decide: (id, decision) => this.#parts.decide(id, decision),
            changed: () => this.#draw(),
          });
    this.#draw();
  }

  #draw(): void {
    const { out, clock, glyphs, queue } = this.#parts;
    const isResizing = clock.monotonicMs() - this.#resizedAt < RESIZE_MS;
    if (this.#ended || this.#isSuspended || isResizing || this.#drawing !== undefined) return;
    const frame = liveFrame(
      {
        tree: this.#tree,
        text: this.#text,
        dialog: this.#dialog?.state,
        open: queue.open.length,
        notice: this.#notice,
        hint: this.#hint(),
        startedAt: this.#startedAt,
        now: clock.now(),
        glyphs,
      },
      out.size(),
    );
    this.#drawing = this.#region.draw(frame).finally(() => {
      this.#drawing = undefined;
    });
  }

  #hint(): string {
    const first = this.#parts.queue.open[0];
    if (first === undefined) return 'Ctrl-C ends after this step';
    return approveCommand(first, this.#parts.place.ledgerOption);
  }

  #suspend(): void {
    // The signal takes its time: nothing is drawn any more before it stops the process.
    this.#isSuspended = true;
    this.#keyboard?.release();
    this.#restoreNow();
    this.#region.forget();
    process.kill(process.pid, 'SIGTSTP');
  }

  #takeTerminal(): void {
    this.#isSuspended = false;
    if (this.#ended) return;
    this.#keyboard?.take();
    this.#region.forget();
    this.#draw();
  }

  #quit(): void {
    this.#release();
    this.#restoreNow();
    process.kill(process.pid, 'SIGQUIT');
  }

  #release(): void {
    this.#ended = true;
    clearInterval(this.#timer);
    this.#dialog?.close();
    this.#keyboard?.close();
    process.stdout.off('resize', this.#onResize);
    process.off('SIGCONT', this.#onContinue);
    process.off('exit', this.#onExit);
  }

  /** Also where the process ends without a word: the terminal must not stay without cursor and echo. */
  #restoreNow(): void {
    this.#keyboard?.release();
    void this.#parts.out.write(`${RESTORE_TERMINAL}\r\n`);
  }
}
