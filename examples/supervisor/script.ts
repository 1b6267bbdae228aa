// What the stand-in of examples/supervisor.ts and examples/worker.ts says, by the agent that asks it.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';

export function script(request: ParsedRequest): Reply {
  const results = request.messages.filter(({ role }) => role === 'tool').map(({ text }) => text);
  return (results.length > 0 ? reply().text(results.join('; ')) : firstOf(request)).usage(120, 15);
}

function firstOf({ model }: ParsedRequest): Reply {
  switch (model) {
    case 'surveyor':
      return reply().call('list_folder', { folder: 'src' }).call('list_folder', { folder: 'test' });
    case 'reader':
      return reply().call('count_lines', { file: 'README.md' });
    default:
      return reply()
        .call('ask_surveyor', { task: 'How large are src and test?' })
        .call('ask_reader', { task: 'How long is the README?' });
  }
}
