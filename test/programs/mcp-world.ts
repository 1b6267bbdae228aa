// An MCP server that offers what stands in a file and tells in another what was asked of it.
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';

/** A tool as the protocol has it. */
interface Listed {
  readonly name: string;
  readonly inputSchema: { readonly type: 'object' };
}

interface World {
  readonly tools: readonly Listed[];
  /** Set: every list fails with it. */
  readonly listFault?: string;
  /** What a tool answers, by name. */
  readonly answers?: Readonly<Record<string, object>>;
}

const [statePath = '', logPath = '', protocol = ''] = process.argv.slice(2);
const world = (): World => JSON.parse(readFileSync(statePath, 'utf8'));
const tell = (line: string) => appendFileSync(logPath, `${line}\n`);

tell(`start ${process.pid}`);
tell(`environment ${Object.keys(process.env).sort().join(' ')}`);

function createServer(): Server {
  const server = new Server(
    { name: 'world', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler('tools/list', async () => {
    tell('list');
    const { listFault, tools } = world();
    if (listFault !== undefined) throw new ProtocolError(ProtocolErrorCode.InternalError, listFault);
    return { tools: [...tools] };
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    tell(`call ${params.name} ${JSON.stringify(params.arguments ?? {})}`);
    if (params.name === 'announce') await server.sendToolListChanged();
    if (params.name === 'die') process.kill(process.pid, 'SIGKILL');
    if (params.name === 'hang') {
      await new Promise<void>((resolve) => mcpReq.signal.addEventListener('abort', () => resolve()));
      tell('cancelled');
    }
    const answer = world().answers?.[params.name] ?? {
      content: [{ type: 'text', text: `${params.name} done` }],
    };
    return answer as { content: { type: 'text'; text: string }[] };
  });
  return server;
}

if (protocol === 'stubborn') {
  // Ends neither with its input nor when it is asked to, and is not alone.
  process.on('SIGTERM', () => tell('SIGTERM'));
  setInterval(() => undefined, 60_000);
  const { pid } = spawn('sleep', ['600'], { stdio: 'ignore' });
  tell(`child ${pid}`);
}

// The newer protocol serves both kinds of clients; the older one knows nothing of the newer.
if (protocol === 'older') await createServer().connect(new StdioServerTransport());
else serveStdio(createServer);
