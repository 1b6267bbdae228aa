// What the stand-in of examples/one-agent.ts says. It knows no file: it goes by what the tools returned.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';

export function script({ messages }: ParsedRequest): Reply {
  const [list, file] = messages.filter(({ role }) => role === 'tool').map(({ text }) => text);
  if (list === undefined) return reply().text('Let me look.').call('list_files', {}).usage(120, 12);
  const names: readonly string[] = JSON.parse(list);
  if (file === undefined)
    return reply()
      .call('read_example', { name: names[0] ?? '' })
      .usage(160, 18);
  const firstLine = file.slice(0, file.indexOf('\n')).replace(/^\/\/ */, '');
  const answer = `There are ${names.length}: ${names.join(', ')}. Of the first, its author says: "${firstLine}"`;
  return reply().text(answer, { chars: 16 }).usage(900, 40);
}
