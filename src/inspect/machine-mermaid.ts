import type { AnyStateMachine } from 'xstate';
import { type ChartEdge, chartOf } from './machine-chart.ts';

/**
 * A machine as a mermaid state diagram, which Markdown viewers draw. Events that leave a state as it is are not in it;
 * those that every state accepts stand in a note.
 * @example
 * import { turnMachine } from 'swarmwright/machines';
 * console.log(machineMermaid(turnMachine));
 */
export function machineMermaid(machine: AnyStateMachine): string {
  const { initial, states, edges, anywhere } = chartOf(machine);
  const lines = [
    'stateDiagram-v2',
    `  [*] --> ${initial}`,
    ...edges.map(({ from, to, labels }) => `  ${from} --> ${to}: ${textOf(labels)}`),
    ...states.filter(({ isFinal }) => isFinal).map(({ name }) => `  ${name} --> [*]`),
    ...anywhere.filter(({ to }) => to !== '*').flatMap(noteOf),
  ];
  return `${lines.join('\n')}\n`;
}

function textOf(labels: readonly string[]): string {
  return labels.join('<br/>');
}

function noteOf({ to, labels }: ChartEdge): readonly string[] {
  return [`  note right of ${to}`, `    from anywhere: ${labels.join(', ')}`, '  end note'];
}
