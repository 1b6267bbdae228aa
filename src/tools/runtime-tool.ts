import type { JsonValue, ToolOutput } from '../ledger/content.ts';
import type { NewRecord, PauseReason } from '../ledger/records.ts';
import type { BoundTool } from './binding.ts';
import type { ToolContext } from './tool.ts';

/** What a tool of the runtime returns: its result, with facts that become durable together with it. */
export class RuntimeToolResult {
  readonly output: ToolOutput;
  /** Written in the batch of the outcome (T2): durable with it or not at all. */
  readonly facts: readonly NewRecord[];
  /** Called once the batch is durable: what the facts say takes effect. */
  readonly settled: () => void;
  /** For programs: what the output says. */
  readonly result: JsonValue | undefined;

  constructor(
    output: ToolOutput,
    facts: readonly NewRecord[],
    settled: () => void = () => undefined,
    result?: JsonValue,
  ) {
    this.output = output;
    this.facts = facts;
    this.settled = settled;
    this.result = result;
  }
}

/** What a tool returns whose sessions go on elsewhere or later: its call has no outcome yet and stays open. */
export class StaysOpen {
  readonly reason: PauseReason | 'left';

  constructor(reason: PauseReason | 'left') {
    this.reason = reason;
  }
}

/** What a tool of the runtime may use beside what every tool has. */
export interface RuntimeToolContext extends ToolContext {
  /** The sessions of the call wait for a person from now on, or do not any more. */
  suspend(isSuspended: boolean): void;
}

/** Implementation of a tool of the runtime. */
export type RuntimeToolRun = (
  input: unknown,
  ctx: RuntimeToolContext,
) => Promise<RuntimeToolResult | StaysOpen> | RuntimeToolResult;

/**
 * A tool of the runtime for one turn: the shared definition, hash and validation of `shared` with an implementation
 * that knows its turn. It settles like any tool.
 */
export function runtimeTool(shared: BoundTool, run: RuntimeToolRun): BoundTool {
  // Settlement gives tools of the runtime the wider context.
  const execute = (input: unknown, ctx: ToolContext) => run(input, ctx as RuntimeToolContext);
  return { ...shared, runtimeOwned: true, tool: { ...shared.tool, execute } };
}
