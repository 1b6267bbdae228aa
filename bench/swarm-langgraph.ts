import { type AIMessageChunk, type BaseMessage, HumanMessage, SystemMessage } from '@langchain/core/messages';
import { type StructuredToolInterface, tool } from '@langchain/core/tools';
import {
  Annotation,
  END,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { API_KEY, ASK, joined, LEAD, LOOK, MODEL, type SwarmContender, WORKER } from './swarm-work.ts';

/** Whether a run is kept and seen while it goes on, as ours is, or only its outcome is asked for. */
type Way = 'invoke' | 'stream';

/** Children are no threads of their own: one node cannot hold several of the same thread. */
type Checkpointer = MemorySaver | false;

const State = Annotation.Root({
  parts: Annotation<readonly string[]>,
  texts: Annotation<readonly (readonly [index: number, text: string])[]>({
    reducer: (before, more) => [...before, ...more],
    default: () => [],
  }),
  report: Annotation<string>,
});

interface Branch {
  readonly index: number;
  readonly part: string;
}

/** The loop of a model and its tools, as the project's own guide writes an agent. */
function agentGraph(
  model: ChatOpenAI,
  instructions: string,
  tools: StructuredToolInterface[],
  checkpointer: Checkpointer,
) {
  const bound = model.bindTools(tools);
  // `invoke` would count the tokens of a streamed answer by itself, with a table that it loads from a server.
  const answer = async (messages: BaseMessage[]): Promise<AIMessageChunk> => {
    let whole: AIMessageChunk | undefined;
    for await (const part of await bound.stream(messages)) whole = whole?.concat(part) ?? part;
    if (whole === undefined) throw new Error('the model sent nothing');
    return whole;
  };
  const system = new SystemMessage(instructions);
  return new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }) => ({ messages: [await answer([system, ...messages])] }))
    .addNode('tools', new ToolNode(tools))
    .addEdge(START, 'model')
    .addConditionalEdges('model', toolsCondition)
    .addEdge('tools', 'model')
    .compile({ checkpointer });
}

function lastText(messages: readonly BaseMessage[]): string {
  const content = messages.at(-1)?.content;
  if (typeof content === 'string') return content;
  throw new Error('the last message is no text');
}

type Worker = ReturnType<typeof agentGraph>;

async function work(worker: Worker, part: string): Promise<string> {
  const { messages } = await worker.invoke({ messages: [new HumanMessage(part)] });
  return lastText(messages);
}

function fanOutGraph(worker: Worker, checkpointer: Checkpointer) {
  return new StateGraph(State)
    .addNode('work', async ({ index, part }: Branch) => ({ texts: [[index, await work(worker, part)]] }))
    .addNode('join', ({ texts }) => {
      const inOrder = [...texts].sort(([one], [other]) => one - other);
      return { report: joined(inOrder.map(([, text]) => text)) };
    })
    .addConditionalEdges(
      START,
      ({ parts }) => parts.map((part, index) => new Send('work', { index, part })),
      ['work'],
    )
    .addEdge('work', 'join')
    .addEdge('join', END)
    .compile({ checkpointer });
}

/** LangGraph.js with `ChatOpenAI`. `stream` keeps every step in memory and reads every delta, of children too. */
export async function langGraphSwarm(baseURL: string, way: Way): Promise<SwarmContender> {
  const model = new ChatOpenAI({
    model: MODEL,
    apiKey: API_KEY,
    configuration: { baseURL },
    useResponsesApi: false,
  });
  const { inputSchema: schema, execute, ...named } = LOOK;
  const worker = agentGraph(model, WORKER.instructions, [tool(execute, { ...named, schema })], false);
  const ask = tool(({ task }: { readonly task: string }) => work(worker, task), {
    name: ASK.name,
    description: ASK.description,
    schema: ASK.inputSchema,
  });
  const checkpointer: Checkpointer = way === 'stream' && new MemorySaver();
  const lead = agentGraph(model, LEAD.instructions, [ask], checkpointer);
  const fanOut = fanOutGraph(worker, checkpointer);
  let threads = 0;
  const streaming = () => {
    threads += 1;
    const configurable = { thread_id: `thread ${threads}` };
    const streamMode: ['messages', 'values'] = ['messages', 'values'];
    return { configurable, streamMode, subgraphs: true as const };
  };
  return {
    async supervise() {
      const input = { messages: [new HumanMessage(LEAD.prompt)] };
      if (way === 'invoke') return lastText((await lead.invoke(input)).messages);
      let text = '';
      for await (const [path, mode, value] of await lead.stream(input, streaming())) {
        if (mode === 'values' && path.length === 0) text = lastText(value.messages);
      }
      return text;
    },
    async fanOut(parts) {
      if (way === 'invoke') return (await fanOut.invoke({ parts })).report;
      let text = '';
      for await (const [path, mode, value] of await fanOut.stream({ parts }, streaming())) {
        if (mode === 'values' && path.length === 0) text = value.report;
      }
      return text;
    },
    async [Symbol.asyncDispose]() {},
  };
}
