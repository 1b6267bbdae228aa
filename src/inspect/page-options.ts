import { isIP } from 'node:net';
import { SwarmError } from '../errors.ts';
import type { ContentPolicy } from '../events/event-projector.ts';
import type { Redactor } from '../events/redaction.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';

/** Options of {@link page}. */
export interface PageOptions {
  /** Port to listen on. Default 0: one that is free; see `url`. */
  readonly port?: number;
  /** Address to listen on. Default `127.0.0.1`. Any other than loopback needs a token. */
  readonly host?: string;
  /**
   * Lets whoever has it answer approvals, steer and cancel: at least 16 characters. Without one the page is read-only.
   * It comes in the fragment of the address (`#token=...`), which browsers send to nobody.
   */
  readonly token?: string;
  /**
   * Which events carry prompts, arguments and results. Default none. With any, whoever looks needs the token where
   * there is one.
   */
  readonly content?: ContentPolicy;
  /** Masks secrets in everything that is shown. Default: by shape. */
  readonly redactor?: Redactor;
}

/** Options of {@link page}, checked. */
export interface PageSettings {
  readonly port: number;
  readonly host: string;
  readonly token: string | undefined;
  readonly isLoopback: boolean;
  readonly content: ContentPolicy;
  readonly redactor: Redactor | undefined;
}

const OPTIONS: OptionNames<PageOptions> = {
  port: true,
  host: true,
  token: true,
  content: true,
  redactor: true,
};
const MIN_TOKEN_CHARS = 16;

/** @throws SwarmError 'invalid-inspector' naming what is wrong */
export function resolvePageOptions(options: PageOptions): PageSettings {
  assertOptions('page', options, OPTIONS, 'invalid-inspector');
  const { port = 0, host = '127.0.0.1', token, content = false, redactor } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) refuse('port is a whole number from 0 to 65535');
  if (typeof host !== 'string' || host === '') refuse('host is an address or a name');
  if (token !== undefined && !/^[\x21-\x7e]{16,512}$/.test(token)) {
    refuse(`token is at least ${MIN_TOKEN_CHARS} characters that can be seen, at most 512`);
  }
  const isLoopback = isLoopbackHost(host);
  if (!isLoopback && token === undefined)
    refuse(`a page on ${host} can be reached by others: give it a token`);
  return { port, host, token, isLoopback, content, redactor };
}

/** Whether only this machine reaches an address. A name other than `localhost` may be anything. */
function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function refuse(message: string): never {
  throw new SwarmError('invalid-inspector', message);
}
