import { createHash } from 'node:crypto';
import { SwarmError } from '../errors.ts';

/** Major version of subjects and messages; readers of another one never see ours. */
export const WIRE_VERSION = 'v1';

/** What can be asked of a session from elsewhere. */
export const COMMAND_VERBS = ['steer', 'cancel', 'approve', 'deny', 'pause', 'resume', 'query'] as const;

export type CommandVerb = (typeof COMMAND_VERBS)[number];

/** Which events: what is left out stands for all. */
export interface EventFilter {
  /** Session the swarm hangs from. */
  readonly root?: string;
  readonly session?: string;
  readonly kind?: string;
  readonly name?: string;
}

/** What the subject of an event says. `root` and `session` are undefined where only a hash of them fits. */
export interface EventSubject {
  readonly root: string | undefined;
  readonly session: string | undefined;
  readonly kind: string;
  readonly name: string;
}

/** The subjects of one namespace. */
export interface Subjects {
  readonly ns: string;
  event(event: { readonly root: string; readonly session: string; readonly type: string }): string;
  /** The one filter that takes these events: never a list, which no permission could bound. */
  events(filter?: EventFilter): string;
  parseEvent(subject: string): EventSubject | undefined;
  /** Text deltas of a run: seen live or not at all. */
  delta(session: string, run: string): string;
  deltas(filter?: { readonly session?: string }): string;
  command(session: string, verb: CommandVerb): string;
  /** All commands of a verb, whatever the session. */
  commands(verb: CommandVerb): string;
  parseCommand(subject: string): { readonly session: string; readonly verb: CommandVerb } | undefined;
  /** How a publisher of events is doing. */
  health(publisher: string): string;
  healths(): string;
}

/** Options of {@link createSubjects}. */
export interface SubjectOptions {
  /** Tenant or environment. Default `default`. */
  readonly ns?: string | undefined;
  /** First token of every subject. Default `swm`. */
  readonly subjectRoot?: string | undefined;
}

const ROOT = /^[a-z0-9_-]{1,16}$/;
const MAX_TOKEN_BYTES = 64;

/**
 * The subjects of one namespace.
 * @throws SwarmError 'invalid-definition' for a `subjectRoot` that is not 1 to 16 of `a-z 0-9 _ -`
 */
export function createSubjects(options: SubjectOptions = {}): Subjects {
  const { ns = 'default', subjectRoot = 'swm' } = options;
  if (!ROOT.test(subjectRoot)) {
    throw new SwarmError('invalid-definition', 'subjectRoot has 1 to 16 characters of a-z, 0-9, _ and -');
  }
  const base = `${subjectRoot}.${WIRE_VERSION}.${encodeToken(ns)}`;
  const tokensOf = (subject: string, plane: string, count: number) => {
    const prefix = `${base}.${plane}.`;
    if (!subject.startsWith(prefix)) return undefined;
    const tokens = subject.slice(prefix.length).split('.');
    return tokens.length === count ? tokens : undefined;
  };
  return {
    ns,
    event: ({ root, session, type }) => `${base}.evt.${encodeToken(root)}.${encodeToken(session)}.${type}`,
    events({ root, session, kind, name } = {}) {
      const tokens = [root, session, kind, name].map((token) =>
        token === undefined ? '*' : encodeToken(token),
      );
      return `${base}.evt.${shortened(tokens)}`;
    },
    parseEvent(subject) {
      const [root, session, kind, name] = tokensOf(subject, 'evt', 4) ?? [];
      if (root === undefined || session === undefined || kind === undefined || name === undefined) {
        return undefined;
      }
      return { root: decodeToken(root), session: decodeToken(session), kind, name };
    },
    delta: (session, run) => `${base}.dlt.${encodeToken(session)}.${encodeToken(run)}`,
    deltas: ({ session } = {}) => `${base}.dlt.${session === undefined ? '*' : encodeToken(session)}.*`,
    command: (session, verb) => `${base}.cmd.${encodeToken(session)}.${verb}`,
    commands: (verb) => `${base}.cmd.*.${verb}`,
    parseCommand(subject) {
      const [token = '', word] = tokensOf(subject, 'cmd', 2) ?? [];
      const session = decodeToken(token);
      const verb = COMMAND_VERBS.find((known) => known === word);
      return session === undefined || verb === undefined ? undefined : { session, verb };
    },
    health: (publisher) => `${base}.hb.${encodeToken(publisher)}`,
    healths: () => `${base}.hb.*`,
  };
}

/** `a.*.*.*` as `a.>`: the shorter filter is one that a permission on a whole plane covers on every server. */
function shortened(tokens: readonly string[]): string {
  const last = tokens.findLastIndex((token) => token !== '*');
  return last === tokens.length - 1 ? tokens.join('.') : [...tokens.slice(0, last + 1), '>'].join('.');
}

/**
 * One subject token for any text. `A-Z a-z 0-9 _ -` stay, every other byte of its UTF-8 becomes `=HH`; the empty
 * text is `=`. What would be longer than 64 bytes is `=h` and 32 hex digits of its SHA-256: `h` is no hex digit, so
 * the two cannot meet. The alphabet is also that of keys of a bucket.
 */
export function encodeToken(text: string): string {
  if (text.length <= MAX_TOKEN_BYTES && /^[A-Za-z0-9_-]+$/.test(text)) return text;
  if (text === '') return '=';
  const bytes = Buffer.from(text.toWellFormed(), 'utf8');
  let token = '';
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    token += /[A-Za-z0-9_-]/.test(character)
      ? character
      : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    if (token.length > MAX_TOKEN_BYTES) {
      return `=h${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}`;
    }
  }
  return token;
}

/** The text of a token; undefined for a hash, and for what `encodeToken` never gives. */
export function decodeToken(token: string): string | undefined {
  if (token === '=') return '';
  if (!/^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$/.test(token)) return undefined;
  const bytes = token
    .split(/(=[0-9A-F]{2})/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith('=') ? Buffer.from(part.slice(1), 'hex') : Buffer.from(part, 'utf8')));
  const text = Buffer.concat(bytes).toString('utf8');
  return encodeToken(text) === token ? text : undefined;
}
