export { type FakeClock, fakeClock, settlePromises } from './fake-clock.ts';
export {
  createFaultPoints,
  type Fault,
  type FaultAction,
  type FaultPoint,
  type FaultPoints,
  type FaultSite,
} from './fault-points.ts';
export { type FaultyLedger, faultyLedger } from './faulty-ledger.ts';
export { type FaultyModel, faultyModel } from './faulty-model.ts';
export { createGate, type Gate } from './gate.ts';
export { type LedgerCase, type LedgerFactory, ledgerContract } from './ledger-contract.ts';
export {
  type PairedCall,
  type PairedMessage,
  pairingViolations,
  toolNameViolations,
} from './pairing-validator.ts';
export { type RecordingSink, type RecordingSinkOptions, recordingSink } from './recording-sink.ts';
export {
  type DeltaRule,
  type FailureOptions,
  failure,
  htmlResponse,
  httpResponse,
  type Reply,
  recordedStream,
  reply,
  resetConnection,
  silence,
  type UsageOptions,
} from './reply.ts';
export type { ReceivedRequest, RecordedRequest, RequestEnd } from './request-log.ts';
export {
  type CallQuirks,
  type ParsedMessage,
  type ParsedRequest,
  type PlainResponse,
  type ReasoningDialect,
  type ResponsePart,
  type Script,
  type ScriptedCall,
  type ScriptedResponse,
  type ScriptRoute,
  type StreamErrorDialect,
  type StreamResponse,
  scriptByModel,
  type UsagePlace,
  type WireUsage,
} from './script.ts';
export {
  type ModelRequest,
  type ScriptedModel,
  type ScriptedModelOptions,
  scriptedModel,
} from './scripted-model.ts';
export { type ScriptedServer, type ScriptedServerOptions, scriptedServer } from './scripted-server.ts';
export { sequentialIds } from './sequential-ids.ts';
export { type SpawnedRequest, type SpawnedServer, spawnScriptedServer } from './spawn-scripted-server.ts';
