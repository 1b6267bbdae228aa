// What the stand-in of examples/many-tools.ts says. It knows what it wants to do and no name of a tool: it calls what
// its searches found.
import { type ParsedRequest, type Reply, reply } from 'swarmwright/testing';

const NEEDS = ['find an order by its number', 'create a ticket for a complaint', 'refund a customer'];

export function script({ messages }: ParsedRequest): Reply {
  const results = messages.filter(({ role }) => role === 'tool').map(({ text }) => text);
  if (results.length === 0) {
    return NEEDS.reduce<Reply>((answer, query) => answer.call('tool_search', { query, limit: 2 }), reply());
  }
  const [find = '', open = '', refund = ''] = results.slice(0, NEEDS.length).map(firstFound);
  if (results.length === NEEDS.length) return reply().call(find, { number: 1042 });
  const order: { readonly number: number; readonly title: string } = JSON.parse(results[3] ?? '{}');
  if (results.length === NEEDS.length + 1) {
    const title = `Broken on arrival: ${order.title}`;
    return reply().call(open, { title, about: order.number }).call(refund, { title, about: order.number });
  }
  const [ticket, money] = results.slice(-2).map((text): { readonly number: number } => JSON.parse(text));
  return reply().text(
    `The ${order.title} is refunded (refund ${money?.number}), and ticket ${ticket?.number} tells of it.`,
  );
}

function firstFound(result: string): string {
  const { activated }: { readonly activated: readonly string[] } = JSON.parse(result);
  return activated[0] ?? '';
}
