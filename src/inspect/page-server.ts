import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { START_STATE } from '../../machines/hooks.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import { createRedactor } from '../events/redaction.ts';
import type { InspectedRuntime } from '../lifecycle/inspector.ts';
import type { InstanceSnapshot } from '../lifecycle/registry.ts';
import type { TransitionRecord } from '../lifecycle/transition-record.ts';
import { PAGE_LIMITS } from '../limits.ts';
import { createFactFrames, type FactFrames } from './fact-frames.ts';
import type { FactSource } from './fact-source.ts';
import type { MoveRing } from './move-ring.ts';
import { judgeAccess, mayRead, SECURITY_HEADERS } from './page-access.ts';
import { PAGE_ACTIONS, pendingRequests } from './page-actions.ts';
import { loadPageFiles, type PageFile } from './page-files.ts';
import type { PageSettings } from './page-options.ts';
import { parsePosition, streamTo } from './page-stream.ts';

/** What the server shows. */
export interface PageSource {
  readonly settings: PageSettings;
  readonly runtime: Omit<InspectedRuntime, 'ledger'>;
  /** Rejects where there are none to be had. */
  facts(): Promise<FactSource>;
  readonly ring: MoveRing;
  readonly live: () => readonly InstanceSnapshot[];
  /** Why what is shown may be behind, in words; undefined while it is not. Default: never. */
  readonly trouble?: () => string | undefined;
}

/** A page that is being served. */
export interface PageServer {
  /** Without the token. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves the page. Nothing of it keeps the process alive.
 * @throws SwarmError 'invalid-inspector' where the address cannot be listened on
 */
export async function servePage(source: PageSource): Promise<PageServer> {
  const { settings } = source;
  // Read when somebody looks: most runs are watched by nobody.
  let files: ReturnType<typeof loadPageFiles> | undefined;
  let frames: Promise<FactFrames> | undefined;
  let viewers = 0;
  const server = createServer((request, response) => {
    const route: Route = {
      ...source,
      files: () => {
        files ??= loadPageFiles();
        return files;
      },
      frames: () => {
        frames ??= source.facts().then((facts) => createFactFrames(facts, source.ring));
        return frames;
      },
      watch: async (stream) => {
        if (viewers >= PAGE_LIMITS.viewers) return answer(response, 503, { message: 'too many viewers' });
        viewers += 1;
        await stream().finally(() => {
          viewers -= 1;
        });
      },
    };
    void handle(request, response, route);
  });
  server.maxConnections = PAGE_LIMITS.connections;
  server.on('connection', (socket) => socket.unref());
  await listen(server, settings);
  server.unref();
  // A TCP server that listens has an address that is no path.
  const { port } = server.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return {
    url: `http://${host}:${port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const STREAM_HEADERS = { 'Content-Type': 'text/event-stream; charset=utf-8', Connection: 'close' };

interface Route extends PageSource {
  files(): Promise<ReadonlyMap<string, PageFile>>;
  /** One for all viewers. */
  frames(): Promise<FactFrames>;
  watch(stream: () => Promise<void>): Promise<void>;
}

function listen(server: Server, { host, port }: PageSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      const message = `the page cannot be served on ${host}, port ${port}: ${cause.message}`;
      reject(new SwarmError('invalid-inspector', message, { cause }));
    });
    server.listen(port, host, resolve);
  });
}

async function handle(request: IncomingMessage, response: ServerResponse, route: Route): Promise<void> {
  // A viewer that goes away in the middle of an answer is nobody's fault.
  response.on('error', () => undefined);
  try {
    await answerRequest(request, response, route);
  } catch (error) {
    if (response.headersSent) response.destroy();
    else if (isSwarmError(error)) answer(response, 409, { code: error.code, message: error.message });
    else answer(response, 500, { message: 'the request failed' });
  }
}

async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  route: Route,
): Promise<void> {
  const { settings } = route;
  const access = judgeAccess(request, settings);
  if (access.type === 'refused') return answer(response, access.status, { message: access.message });
  const target = readTarget(request.url ?? '');
  if (target === undefined) return answer(response, 400, { message: 'this is no address of the page' });
  const { pathname, searchParams } = target;
  const { controls } = access;
  if (request.method === 'GET') {
    const file = pathname.startsWith('/api/') ? undefined : (await route.files()).get(pathname);
    // The files are those of the package: nothing of a run is in them.
    if (file !== undefined) return answerFile(response, file);
    if (!mayRead(controls, settings)) return answer(response, 401, { message: 'a token is needed' });
    return answerRead(request, response, { ...route, pathname, searchParams, controls });
  }
  const act = Object.hasOwn(PAGE_ACTIONS, pathname) ? PAGE_ACTIONS[pathname] : undefined;
  if (request.method !== 'POST' || act === undefined) return answer(response, 404, { message: 'not found' });
  if (!controls) return answer(response, 401, { message: 'this page is read-only without its token' });
  if (request.headers['content-type'] !== 'application/json') {
    return answer(response, 415, { message: 'only JSON is taken' });
  }
  return answer(response, 200, await act(route.runtime, await readBody(request)));
}

/** Only a path is taken: no whole address, as a proxy is sent, and no `*`. */
function readTarget(target: string): URL | undefined {
  if (!target.startsWith('/')) return undefined;
  // Joined and not resolved: a path that begins with two slashes names a host otherwise.
  return URL.parse(`http://page${target}`) ?? undefined;
}

interface Reading extends Route {
  readonly pathname: string;
  readonly searchParams: URLSearchParams;
  readonly controls: boolean;
}

async function answerRead(
  request: IncomingMessage,
  response: ServerResponse,
  reading: Reading,
): Promise<void> {
  const { pathname, runtime, settings, controls } = reading;
  switch (pathname) {
    case '/api/stream':
      return reading.watch(() => stream(request, response, reading));
    case '/api/approvals':
      return answer(response, 200, await pendingRequests(runtime, settings, controls));
    case '/api/said':
      return answer(response, 200, await saidIn(reading));
    case '/api/path':
      return answer(response, 200, await pathOf(reading));
    default:
      return answer(response, 404, { message: 'not found' });
  }
}

async function stream(request: IncomingMessage, response: ServerResponse, reading: Reading): Promise<void> {
  const { runtime, ring, live, settings, controls, searchParams, trouble } = reading;
  const frames = await reading.frames();
  const seen = request.headers['last-event-id'] ?? searchParams.get('after') ?? undefined;
  // It ends with its connection: cut into chunks, each piece would be four writes to the socket.
  response.removeHeader('Transfer-Encoding');
  response.writeHead(200, { ...SECURITY_HEADERS, ...STREAM_HEADERS });
  const from = parsePosition(String(seen));
  const canFork = controls && runtime.fork !== undefined;
  const shown = { frames, ring, live, ...(trouble === undefined ? {} : { trouble }) };
  await streamTo(response, { ...shown, settings, from, controls, canFork });
}

/** The path of one machine: as it was seen, or as facts tell it, up to a place in the session. */
async function pathOf(reading: Reading): Promise<readonly TransitionRecord[]> {
  const { ring, searchParams } = reading;
  const id = searchParams.get('instance') ?? '';
  const seen = searchParams.has('seq') ? [] : ring.ofInstance(id);
  if (seen[0]?.from === START_STATE) return seen;
  const source = await reading.facts();
  return source.path(id, Number(searchParams.get('seq') ?? Number.POSITIVE_INFINITY));
}

/** What the model said in a step, where the content of steps is let out. */
async function saidIn(reading: Reading): Promise<object> {
  const { settings, searchParams } = reading;
  const { content, redactor = createRedactor() } = settings;
  if (content === false || (Array.isArray(content) && !content.includes('step'))) return {};
  const said = await (await reading.facts()).said(searchParams.get('step') ?? '');
  return said === undefined ? {} : redactor.value({ ...said });
}

function answerFile(response: ServerResponse, { type, body }: PageFile): void {
  response.writeHead(200, { ...SECURITY_HEADERS, 'Content-Type': type });
  response.end(body);
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { ...SECURITY_HEADERS, 'Content-Type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

/** @throws SwarmError 'invalid-input' for what is too large or no JSON */
async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    // Node gives buffers where no encoding is set.
    bytes += (chunk as Buffer).length;
    if (bytes > PAGE_LIMITS.maxBodyBytes) throw new SwarmError('invalid-input', 'the request is too large');
    chunks.push(chunk as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(cause: unknown): SwarmError {
  return new SwarmError('invalid-input', 'the request is no JSON', { cause });
}
