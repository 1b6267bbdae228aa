import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { WireTool } from '../model/adapter.ts';
import type { Tool } from './tool.ts';

/** Outcome of checking arguments against the schema of a tool. */
export type Validation =
  | { readonly type: 'valid' /** Parsed and defaulted: what `execute` gets. */; readonly value: unknown }
  | {
      readonly type: 'invalid';
      /** Names the fields and what is wrong with them, never a value. */
      readonly message: string;
      readonly paths: readonly (readonly (string | number)[])[];
    };

/** A tool prepared once for a binding: everything about it that does not change from call to call. */
export interface BoundTool {
  readonly tool: Tool<never>;
  /** Canonical name. */
  readonly name: string;
  /** What the provider sees; `definition.name` is the wire name. Frozen: its bytes never change. */
  readonly definition: WireTool;
  /** sha256 over name, description and schema; of a live tool also over the name of its source. */
  readonly schemaHash: string;
  /** Characters of the serialized definition. */
  readonly schemaChars: number;
  /** When it is deferred: as the tool says, else `auto` for one of a live source and `never` for others. */
  readonly defer: 'never' | 'always' | 'auto';
  /** As the tool says, else the name of its live source. */
  readonly group: string | undefined;
  /** The live source it comes from; absent for tools of the agent and of the runtime. */
  readonly source?: string;
  /** Arguments are taken as they are: nothing is coerced to the types of the schema. */
  readonly exactArguments?: true;
  /** A tool of the runtime itself: without effect outside, so a crash never makes its calls indeterminate. */
  readonly runtimeOwned?: true;
  /**
   * It waits for sessions of its own, which have limits and an end of their own: no time limit is laid over it, and it
   * is waited for however long it takes to stop. After a crash it is entered again and finds them.
   */
  readonly waitsForSessions?: true;
  /** It hands the turn over: settled when every other call of its step is, and once in a turn. */
  readonly handsOver?: true;
  /**
   * What a call with these arguments is really a call of. Undefined = of this tool itself, which then says why it could
   * not be passed on.
   */
  readonly forward?: (args: JsonObject) => Forwarded | undefined;
  /** Checks plain arguments; loads a JSON Schema validator at the first call of a tool that has one. */
  validate(args: JsonObject): Promise<Validation>;
}

/** A call that is meant for another tool than the one it names. */
export interface Forwarded {
  readonly bound: BoundTool;
  /** As the model named it. */
  readonly requestedName: string;
  readonly args: JsonValue;
}

/** The tools one turn may ever execute, frozen and hashed: its capability ceiling. */
export interface Binding {
  readonly tools: readonly BoundTool[];
  /** sha256 over all schema hashes in name order. */
  readonly hash: string;
  byName(name: string): BoundTool | undefined;
  /** By what a provider wrote. */
  byWireName(wireName: string): BoundTool | undefined;
}
