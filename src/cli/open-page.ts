import { randomBytes } from 'node:crypto';
import type { PageInspector } from '../inspect/page.ts';
import type { Cli } from './cli.ts';

/** What a page of the command line is served with. */
export interface PageChoice {
  readonly port?: number | undefined;
  readonly content?: boolean | undefined;
  /** Default: a new one. */
  readonly token?: string | undefined;
}

/** A page for the runtime that is made next, whose address is told as soon as it has one. */
export async function openPage(cli: Cli, choice: PageChoice): Promise<PageInspector> {
  const { page } = await import('../inspect/page.ts');
  const { port = 0, content = false, token = createToken() } = choice;
  const inspector = page({ port, content, token });
  inspector.url.then(
    (url) => cli.err.say(`The page: ${url}`),
    (error: unknown) => cli.err.say(`error: ${error instanceof Error ? error.message : String(error)}`),
  );
  return inspector;
}

/** A token that nobody guesses. */
export function createToken(): string {
  return randomBytes(18).toString('base64url');
}
