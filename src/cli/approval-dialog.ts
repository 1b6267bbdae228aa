import type { Key } from 'node:readline';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { ApprovalDecision } from '../tools/approval-decisions.ts';
import type { PendingApproval } from '../tools/approvals.ts';
import { readJsonObject } from './json-object.ts';
import { createLineEditor, type EditedLine, type LineEditor } from './line-editor.ts';

/** What the person is asked at the moment. */
export type DialogMode = 'choose' | 'edit' | 'deny' | 'answer' | 'deciding';

/** All that is shown of a dialog. */
export interface DialogState {
  readonly request: PendingApproval;
  readonly mode: DialogMode;
  /** What is being typed, in every mode with a line to type. */
  readonly typed: EditedLine | undefined;
  /** Why the last decision was not taken. */
  readonly complaint: string | undefined;
}

export interface DialogOptions {
  readonly request: PendingApproval;
  decide(id: string, decision: ApprovalDecision): Promise<void>;
  /** Called when what is shown has changed without a key. */
  changed(): void;
}

/** The conversation with a person about one request: keys in, at last one decision out. */
export class ApprovalDialog {
  readonly #options: DialogOptions;
  #mode: DialogMode;
  #editor: LineEditor | undefined;
  #complaint: string | undefined;

  constructor(options: DialogOptions) {
    this.#options = options;
    this.#mode = 'choose';
    this.#begin();
  }

  get state(): DialogState {
    return {
      request: this.#options.request,
      mode: this.#mode,
      typed: this.#editor?.line,
      complaint: this.#complaint,
    };
  }

  /** Takes a key; what it means depends on the mode. */
  press(text: string | undefined, key: Key): void {
    if (this.#mode === 'deciding') return;
    if (this.#mode === 'choose') this.#choose(text);
    else if (key.name === 'escape') this.#leave();
    else if (this.#editor?.press(text, key) === true) this.#enter(this.#editor.line.text);
  }

  close(): void {
    this.#editor?.close();
    this.#editor = undefined;
  }

  #begin(): void {
    if (this.#options.request.kind === 'question') this.#type('answer', '');
    else this.#show('choose');
  }

  #choose(text: string | undefined): void {
    const { input, rememberable } = this.#options.request;
    const key = text?.toLowerCase();
    if (key === 'y') this.#decide({ decision: 'approve' });
    else if (key === 't' && rememberable) this.#decide({ decision: 'approve', scope: 'turn' });
    else if (key === 's' && rememberable) this.#decide({ decision: 'approve', scope: 'session' });
    else if (key === 'n') this.#type('deny', '');
    else if (key === 'e') this.#type('edit', JSON.stringify(input));
  }

  /** Escape: a question that nobody answers is denied, everything else goes back to the choice. */
  #leave(): void {
    if (this.#mode === 'answer') this.#type('deny', '');
    else this.#begin();
  }

  #enter(typed: string): void {
    const words = typed.trim();
    if (this.#mode === 'deny') {
      this.#decide({ decision: 'deny', ...(words === '' ? {} : { reason: words }) });
    } else if (this.#mode === 'edit') this.#runEdited(typed);
    else if (words === '') this.#type('answer', '');
    else {
      const option = optionsOf(this.#options.request.input)[Number(words) - 1];
      this.#decide({ decision: 'approve', answer: option ?? words });
    }
  }

  #runEdited(typed: string): void {
    const edited = readJsonObject(typed);
    if (edited.type === 'object') this.#decide({ decision: 'approve', editedInput: edited.value });
    else {
      this.#type('edit', typed);
      this.#complaint = edited.complaint;
    }
  }

  #decide(decision: ApprovalDecision): void {
    const mode = this.#mode;
    const typed = this.#editor?.line.text;
    this.#show('deciding');
    this.#options.decide(this.#options.request.id, { ...decision, actor: 'terminal' }).catch(
      // The request is still open, or another was faster; either way the person is told.
      (error: unknown) => {
        if (typed === undefined) this.#show(mode);
        else this.#type(mode, typed);
        this.#complaint = error instanceof Error ? error.message : String(error);
        this.#options.changed();
      },
    );
  }

  #type(mode: DialogMode, initial: string): void {
    this.#show(mode);
    this.#editor = createLineEditor(initial);
  }

  #show(mode: DialogMode): void {
    this.close();
    this.#complaint = undefined;
    this.#mode = mode;
  }
}

/** Answers a question offers; a number typed instead of a text means one of them. */
export function optionsOf(input: JsonObject): readonly string[] {
  const options: JsonValue | undefined = input['options'];
  return Array.isArray(options) ? options.filter((one): one is string => typeof one === 'string') : [];
}
