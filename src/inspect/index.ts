// The public surface of `swarmwright/inspect`.

export type {
  InspectedDecision,
  InspectedRequest,
  InspectedRuntime,
  Inspector,
} from '../lifecycle/inspector.ts';
export type { InstanceSnapshot } from '../lifecycle/registry.ts';
export { machineJson } from './machine-json.ts';
export { machineMermaid } from './machine-mermaid.ts';
export { type PageInspector, page } from './page.ts';
export type { PageOptions } from './page-options.ts';
export { type ReplayOptions, type ReplayTarget, replayLedger } from './replay-ledger.ts';
export { type StatelyInspector, type StatelyOptions, type StatelyStats, stately } from './stately.ts';
