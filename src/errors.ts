/**
 * Every way the runtime throws, in one closed table. Expected outcomes of a run (a tool failing, a denied
 * call, a limit reached) are values and never appear here; these are misuse and broken infrastructure.
 */
const SWARM_ERROR_CODES = {
  // definitions
  'invalid-definition': 'A definition has an unknown, missing or contradictory field.',
  'invalid-limit': 'A limit is negative, not finite or not a number.',
  'invalid-input': 'The input of a run is neither text nor message parts.',
  'input-too-large': 'The input of a run is larger than a fact or a file may be.',
  'duplicate-tool': 'Two tools of one binding share a name.',
  'reserved-tool-name': 'A tool uses a name the runtime needs for itself.',
  'look-alike-tool-name': 'Two tools of one binding have names a reader cannot tell apart.',
  'unusable-schema': 'A schema cannot be turned into one that providers accept.',
  'unknown-agent': 'A name does not resolve in the registry of the runtime.',
  'unknown-tool': 'A tool is named that the binding does not hold.',
  // ledger
  'ledger-closed': 'The ledger was closed.',
  'ledger-foreign': 'The file is not a ledger of this project.',
  'ledger-newer-schema': 'The ledger was written by a newer version.',
  'ledger-corrupt': 'A stored record does not match its hash, order or schema.',
  'ledger-unavailable': 'The store failed or did not answer in time.',
  'ledger-rejected': 'An append was rejected: conflict, fenced, sealed or a repeated operation.',
  'ledger-limit': 'An append is over a bound: records or bytes of a batch, records of a session.',
  'invalid-record': 'A record breaks the schema of its type or is not plain bounded JSON.',
  'ledger-indeterminate': 'It is unknown whether an append became durable.',
  'sqlite-unsuitable': 'The SQLite of this Node has a known corruption fault.',
  'session-owned-elsewhere': 'Another live process owns the session.',
  'unknown-session': 'No session of that id is in the ledger.',
  'artifact-missing': 'An artifact is not stored.',
  'artifact-corrupt': 'An artifact does not match its hash.',
  'artifact-too-large': 'An artifact is over the size bound.',
  // machines
  'machine-fault': 'A state machine threw.',
  'invalid-machine': 'A provided machine is not one of the runtime.',
  'duplicate-instance': 'A live machine instance already has the id.',
  // model
  'model-unsupported': 'The language model does not implement a supported interface.',
  'invalid-model': 'A model has an unknown or unusable option.',
  'response-too-large': 'A provider sent more than the bound of one response.',
  'stream-misuse': 'A step stream was read twice or not at all.',
  // approvals, steering, runs
  'unknown-approval': 'No approval request of that id exists.',
  'approval-settled': 'The approval request was decided, expired or cancelled before.',
  'approval-conflict': 'The approval request already has another decision.',
  'approval-edit-invalid': 'The edited input breaks the schema of the tool, or a policy denies it.',
  'invalid-decision': 'A decision on an approval request has an unknown, missing or contradictory field.',
  'approval-not-rememberable': 'The request allows a decision for this call only.',
  'arguments-rejected': 'Tool arguments are not plain bounded JSON.',
  'nothing-to-resume': 'The session has no open turn.',
  'invalid-fork': 'A session cannot go on from the point that is named, or the edit does not fit there.',
  'turn-not-open': 'The turn is not open.',
  'not-pausable': 'What is at work has no step of its own to pause after: a graph, or a part of another run.',
  'runtime-closed': 'The runtime was closed.',
  'not-queueable': 'A definition or an option of a run cannot travel to the workers of a pool.',
  'definition-mismatch': 'A worker knows another definition under the name than the run was given with.',
  'mailbox-full': 'The mailbox of the session is full.',
  'child-session': 'The session belongs to the run of another one, and goes on with it.',
  'ceiling-changed': 'The tools a session may use differ from those recorded at its start.',
  'reader-too-slow': 'An event reader fell behind its bound.',
  'too-many-readers': 'More readers are attached than the bound allows.',
  'sink-failed': 'A sink did not take events, or did not answer in time.',
  // NATS
  'nats-insecure': 'A NATS server beyond this machine is addressed without TLS.',
  'nats-unavailable': 'The NATS server cannot be reached, or did not answer in time.',
  'nats-rejected': 'The NATS server refused what it was asked: a permission, a limit, or a wrong request.',
  'nats-unsuitable': 'The NATS server is too old for what is asked of it, or dropped settings.',
  'command-disabled': 'Commands of this kind are switched off where the session lives.',
  'approval-arguments-differ': 'A decision is for other arguments than those that wait for it.',
  // MCP
  'mcp-client-missing': 'MCP servers need a package that is not installed.',
  'mcp-disconnected': 'The connection to an MCP server has ended or could not be made.',
  // inspection
  'inspector-missing': 'The Stately inspector needs a package that is not installed.',
  'invalid-inspector': 'An inspector has an unknown or unusable option.',
  // testing
  'script-unplayed': 'A scripted model or server has steps left, or was asked for more than it holds.',
  'fault-injected': 'A fault point fired (tests only).',
} as const;

/** A stable, kebab-case code of {@link SwarmError}; callers switch on it. */
export type SwarmErrorCode = keyof typeof SWARM_ERROR_CODES;

/** What a code means, in one sentence. */
export function describeErrorCode(code: SwarmErrorCode): string {
  return SWARM_ERROR_CODES[code];
}

/**
 * The only error this project throws. `code` is stable API; `message` names the culprit and may change;
 * `cause` holds what was caught.
 */
export class SwarmError extends Error {
  override readonly name = 'SwarmError';
  readonly code: SwarmErrorCode;

  constructor(code: SwarmErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** True for a {@link SwarmError}, of the given code if one is named. */
export function isSwarmError(value: unknown, code?: SwarmErrorCode): value is SwarmError {
  return value instanceof SwarmError && (code === undefined || value.code === code);
}
