// What the stand-in of examples/swarm.ts says, by the agent that asks it. It goes by what stands in the request: the
// results of tools, the results a work was given, and what the runtime tells a lead that it wakes.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';
import { z } from 'zod';

const FOLDERS = ['machines', 'src/graph', 'src/turn'];

export function script(request: ParsedRequest): Reply {
  return answerOf(request).usage(150, 20);
}

function answerOf(request: ParsedRequest): Reply {
  switch (request.model) {
    case 'surveyor':
      return surveyorSays(request);
    case 'editor':
      return reply().text(givenTo(request).join('\n'));
    default:
      return leadSays(request);
  }
}

function surveyorSays({ messages, lastText }: ParsedRequest): Reply {
  if (messages.at(-1)?.role === 'tool') return reply().text(lastText);
  const folder = FOLDERS.find((name) => lastText.includes(`folder ${name}.`)) ?? '';
  return reply().call('measure_folder', { folder });
}

const updated = z.object({ added: z.array(z.object({ work_id: z.string() })) });

/** Schedules three works, then one that is given their results, and gives way; once it is woken it answers. */
function leadSays({ messages, lastText }: ParsedRequest): Reply {
  const results = messages.filter(({ role }) => role === 'tool').map(({ text }) => text);
  if (results.length === 0)
    return adding(FOLDERS.map((folder) => work('surveyor', `Measure the folder ${folder}.`)));
  if (results.length === 1) {
    const { added } = updated.parse(JSON.parse(results[0] ?? ''));
    return adding([
      work(
        'editor',
        'Merge the results.',
        added.map(({ work_id }) => work_id),
      ),
    ]);
  }
  if (results.length === 2) return reply().call('yield_agent_graph', { reason: 'the works are under way' });
  return reply().text(mergedIn(lastText));
}

function work(agent: string, instruction: string, input_ids: readonly string[] = []) {
  return { target: { type: 'new_agent', id: agent }, instruction, input_ids: [...input_ids] };
}

function adding(add_work: ReturnType<typeof work>[]): Reply {
  return reply().call('update_agent_graph', { operation: 'add_work', add_work });
}

const given = z.array(z.object({ text: z.string() }));

/** Results of earlier works in the message of an operator. */
function givenTo({ lastText }: ParsedRequest): readonly string[] {
  const [, block = '[]'] =
    /<results_of_earlier_work>\n(.*)\n<\/results_of_earlier_work>/.exec(lastText) ?? [];
  return given.parse(JSON.parse(block)).map(({ text }) => text);
}

const news = z.object({ news: z.array(z.object({ agent: z.string(), result: z.string().optional() })) });

/** What the editor came to, as the runtime tells the lead. */
function mergedIn(text: string): string {
  const told = news.parse(JSON.parse(text.slice(text.indexOf('\n') + 1)));
  return told.news.find(({ agent }) => agent === 'editor')?.result ?? 'nothing';
}
