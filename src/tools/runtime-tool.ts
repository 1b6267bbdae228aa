import type { ToolOutput } from '../ledger/content.ts';
import type { NewRecord } from '../ledger/records.ts';
import type { BoundTool } from './binding.ts';
import type { ToolContext } from './tool.ts';

/** What a tool of the runtime returns: its result, with facts that become durable together with it. */
export class RuntimeToolResult {
  readonly output: ToolOutput;
  /** Written in the batch of the outcome (T2): durable with it or not at all. */
  readonly facts: readonly NewRecord[];
  /** Called once the batch is durable: what the facts say takes effect. */
  readonly settled: () => void;

  constructor(output: ToolOutput, facts: readonly NewRecord[], settled: () => void) {
    this.output = output;
    this.facts = facts;
    this.settled = settled;
  }
}

/**
 * A tool of the runtime for one turn: the shared definition, hash and validation of `shared` with an implementation
 * that knows its turn. It settles like any tool.
 */
export function runtimeTool(
  shared: BoundTool,
  execute: (input: unknown, ctx: ToolContext) => Promise<RuntimeToolResult> | RuntimeToolResult,
): BoundTool {
  return { ...shared, runtimeOwned: true, tool: { ...shared.tool, execute } };
}
