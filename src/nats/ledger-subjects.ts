import { createSubjects, encodeToken, type SubjectOptions, WIRE_VERSION } from './subjects.ts';

/** The subjects of the ledger of one namespace. */
export interface LedgerSubjects {
  readonly ns: string;
  /** Everything a session is: its records and the claims on it. */
  session(session: string): string;
  sessions(): string;
  /** Where the server passes on what it stored of a session, to whoever listens. */
  passedOn(session: string): string;
  /** One message to the owner of a session, and later the answer in its place. */
  message(session: string, id: string): string;
  messages(session: string): string;
  allMessages(): string;
  /** The token of the session in the subject of a message. */
  mailboxOf(subject: string): string;
  /** Sign of life of a process. */
  owner(token: string): string;
  owners(): string;
  cursor(name: string): string;
}

/** @throws SwarmError 'invalid-definition' for a `subjectRoot` that cannot be one */
export function createLedgerSubjects(options: SubjectOptions): LedgerSubjects {
  const { ns } = createSubjects(options);
  const base = `${options.subjectRoot ?? 'swm'}.${WIRE_VERSION}.${encodeToken(ns)}`;
  return {
    ns,
    session: (session) => `${base}.led.${encodeToken(session)}`,
    sessions: () => `${base}.led.*`,
    passedOn: (session) => `${base}.rec.${encodeToken(session)}`,
    message: (session, id) => `${base}.mbx.${encodeToken(session)}.${encodeToken(id)}`,
    messages: (session) => `${base}.mbx.${encodeToken(session)}.*`,
    allMessages: () => `${base}.mbx.*.*`,
    mailboxOf: (subject) => subject.slice(`${base}.mbx.`.length).split('.')[0] ?? '',
    owner: (token) => `${base}.own.${encodeToken(token)}`,
    owners: () => `${base}.own.*`,
    cursor: (name) => `${base}.cur.${encodeToken(name)}`,
  };
}
