// The public surface of `swarmwright/nats`, by what it is for.

// connect

export type { NatsClient, NatsClientState, NatsServerFacts } from './client.ts';
export { connectNats } from './client.ts';
export type { Connection } from './connection.ts';
export type { NatsAuth, NatsOptions, NatsTls } from './connection-options.ts';

// publish

export type { EventFormat } from './event-message.ts';
export { type NatsSink, type NatsSinkCounts, type NatsSinkOptions, natsSink } from './nats-sink.ts';

export { type DeltaCounts, type PublishDeltasOptions, publishDeltas } from './publish-deltas.ts';

// subscribe

export {
  type SubscribeOptions,
  type Subscription,
  type SubscriptionCounts,
  type SubscriptionItem,
  subscribe,
} from './subscribe.ts';

// command

export type { CommandBody, CommandReply } from './command-messages.ts';
export { type SendCommandOptions, sendCommand } from './send-command.ts';
export { type CommandService, type ServeCommandsOptions, serveCommands } from './serve-commands.ts';

// provision

export {
  type ProvisionReport,
  provision,
  type SettingDifference,
  type StreamReport,
} from './provision.ts';
export type { ProvisionOptions } from './streams.ts';

// keep the ledger

export { type JetStreamLedgerOptions, jetstreamLedger } from './jet-stream-ledger.ts';
export type { LedgerStreamOptions } from './ledger-streams.ts';

// work on turns

export { type NatsPoolOptions, natsPool } from './nats-pool.ts';
export { type DeadTurn, startWorker, type Worker, type WorkerCounts, type WorkerOptions } from './worker.ts';

// subjects

export {
  COMMAND_VERBS,
  type CommandVerb,
  createSubjects,
  decodeToken,
  type EventFilter,
  encodeToken,
  type SubjectOptions,
  type Subjects,
} from './subjects.ts';
