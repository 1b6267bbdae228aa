import type { Tool } from '../../src/tools/tool.ts';
import type { ToolSource } from '../../src/tools/tool-source.ts';

/** A source of tools that a test changes. */
export interface ChangingSource extends ToolSource<unknown> {
  /** Offers these from now on. */
  offer(tools: readonly Tool<unknown>[]): void;
  withdraw(name: string): void;
}

export function changingSource(name: string, tools: readonly Tool<unknown>[]): ChangingSource {
  let offered = tools;
  let revision = 1;
  const offer = (next: readonly Tool<unknown>[]) => {
    offered = next;
    revision += 1;
  };
  return {
    name,
    get revision() {
      return revision;
    },
    tools: () => offered,
    offer,
    withdraw: (gone) => offer(offered.filter((tool) => tool.name !== gone)),
  };
}
