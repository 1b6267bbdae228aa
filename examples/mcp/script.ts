// What the stand-in of examples/mcp.ts says. What it writes is made of what it read.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';

export function script({ messages }: ParsedRequest): Reply {
  const [folder = ''] = /\S+$/.exec(messages[0]?.text ?? '') ?? [];
  const [listing, text, written] = messages.flatMap((message) =>
    message.role === 'tool' ? [message.text] : [],
  );
  if (listing === undefined) return reply().call('files__list_directory', { path: folder });
  const path = `${folder}/${/\S+\.md/.exec(listing)?.[0]}`;
  if (text === undefined) return reply().call('files__read_text_file', { path });
  const lines = text.split('\n');
  const kept = lines.filter((line, at) => line === '' || lines.indexOf(line) === at);
  if (written === undefined) return reply().call('files__write_file', { path, content: kept.join('\n') });
  return reply().text(`${lines.length - kept.length} line stood there twice.`);
}
