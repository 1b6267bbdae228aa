import type { ParsedMessage } from '../../src/testing/script.ts';

/** What a root is to do: it is the text of its input. */
export interface Task {
  /** Unique over a schedule: a request is known by it. */
  readonly id: string;
  readonly kind: TaskKind;
}

export const TASK_KINDS = ['tools', 'children', 'approval', 'long'] as const;
export type TaskKind = (typeof TASK_KINDS)[number];

export const textOf = ({ id, kind }: Task) => `${kind} ${id}`;

/** The task a conversation is about. */
export function taskIn(messages: readonly ParsedMessage[]): Task {
  const [kind = '', id = ''] = (messages[0]?.text ?? '').split(' ');
  // Whoever gives tasks makes them by `textOf`.
  return { kind: kind as TaskKind, id };
}

/** Something the provider or a tool saw. */
export type SpyLine =
  | {
      readonly what: 'entered' | 'left';
      readonly session: string;
      readonly operationId: string;
      readonly toolName: string;
      readonly at: number;
    }
  | { readonly what: 'requested'; readonly at: number; readonly messages: readonly ParsedMessage[] };
