import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { PageSettings } from './page-options.ts';

/** What a request may do, or why it may do nothing. */
export type Access =
  | { readonly type: 'allowed'; readonly controls: boolean }
  | { readonly type: 'refused'; readonly status: 401 | 403 | 421; readonly message: string };

/** Headers of every response: nothing is loaded from elsewhere, nothing runs that is not a file of the page. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

/**
 * Judges a request. A page of another site can make a browser send one here, by its own name for this address (DNS
 * rebinding) or by ours: the first is seen by `Host`, the second by `Origin` and `Sec-Fetch-Site`.
 */
export function judgeAccess(request: IncomingMessage, settings: PageSettings): Access {
  const { host, origin, authorization } = request.headers;
  if (!isOwnHost(host, settings)) return refused(421, 'this address is not served under that name');
  const site = request.headers['sec-fetch-site'];
  if (origin !== undefined && origin !== `http://${host}`) return refused(403, 'another site asks');
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    return refused(403, 'another site asks');
  }
  const controls = settings.token !== undefined && isToken(authorization, settings.token);
  if (authorization !== undefined && !controls) return refused(401, 'the token is wrong');
  return { type: 'allowed', controls };
}

/**
 * Whether a request that was let in may read what is shown: with the token always; without it on this machine alone,
 * and what was said only where nobody thought of a token, as others may have an account here.
 */
export function mayRead(controls: boolean, { isLoopback, token, content }: PageSettings): boolean {
  return controls || (isLoopback && (token === undefined || content === false));
}

function refused(status: 401 | 403 | 421, message: string): Access {
  return { type: 'refused', status, message };
}

/**
 * A name that a stranger can give this address is none of ours; an address is nobody's to give. Any port is good: a
 * tunnel has one of its own.
 */
function isOwnHost(header: string | undefined, { host }: PageSettings): boolean {
  const [, name = ''] = /^(\[[0-9a-f:.]+\]|[^:/@]+)(?::\d{1,5})?$/i.exec(header ?? '') ?? [];
  const bare = name.replace(/^\[|\]$/g, '').toLowerCase();
  return bare === 'localhost' || bare === host.toLowerCase() || isIP(bare) !== 0;
}

/** Takes the same time whatever is given. */
function isToken(header: string | undefined, token: string): boolean {
  const given = /^Bearer (.+)$/.exec(header ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
