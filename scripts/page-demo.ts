import { defineAgent, defineTool, type JsonObject } from 'swarmwright';
import { createGate, type Gate, reply, scriptedModel } from 'swarmwright/testing';
import { z } from 'zod';

// A small swarm that does a bit of everything, for the pictures of the page in the docs.

const price = { input: 3, output: 15 };

function quickTool(name: string, description: string, group?: string) {
  return defineTool({
    name,
    description,
    inputSchema: z.object({ query: z.string().optional(), id: z.int().optional() }),
    ...(group === undefined ? {} : { group, defer: 'always' as const }),
    execute: () => ({ found: 3, took: 'a moment' }),
  });
}

const DEFERRED = [
  ...['open_ticket', 'close_ticket', 'list_tickets', 'assign_ticket', 'merge_tickets'],
  ...['send_invoice', 'refund_order', 'list_orders', 'track_parcel', 'print_label'],
].map((name) => quickTool(name, `${name.replace('_', ' ')} of the shop.`, 'shop'));

/** The swarm, and the gate that one of its calls waits at. */
export function demoSwarm(): { readonly lead: ReturnType<typeof createLead>; readonly gate: Gate } {
  const gate = createGate();
  return { lead: createLead(gate), gate };
}

const publish = defineTool({
  name: 'publish_report',
  description: 'Publishes the report to customers.',
  inputSchema: z.object({ title: z.string(), audience: z.enum(['team', 'customers']) }),
  needsApproval: true,
  execute: () => 'published',
});

function slowTool(gate: Gate) {
  return defineTool({
    name: 'run_checks',
    description: 'Runs the checks of the shop.',
    inputSchema: z.object({ suite: z.string() }),
    async execute(_, { signal }) {
      await gate.pass(signal);
      return '214 checks passed';
    },
  });
}

function createLead(gate: Gate) {
  const slow = slowTool(gate);
  const worker = (name: string, description: string, calls: readonly (readonly [string, JsonObject])[]) =>
    defineAgent({
      name,
      description,
      instructions: `You are ${name}.`,
      model: scriptedModel({
        price,
        script: ({ messages }) => {
          const answered = messages.filter(({ role }) => role === 'assistant').length;
          const next = calls[answered];
          if (next === undefined) return reply().text(`${name}: nothing strange found.`).usage(900, 60);
          return reply()
            .call(...next)
            .usage(700, 40);
        },
      }),
      tools: [quickTool('read_page', 'Reads a page.'), quickTool('query_sales', 'Queries sales.'), slow],
    });
  return defineAgent({
    name: 'lead',
    instructions: 'You lead a review of the shop.',
    model: scriptedModel({
      price,
      script: [
        reply()
          .text('Let me see who can help.')
          .call('tool_search', { query: 'refund an order' })
          .usage(1_200, 90),
        reply()
          .call('refund_order', { id: 7 })
          .call('list_orders', {})
          .call('erase_all', {})
          .usage(1_900, 120),
        reply()
          .call('ask_analyst', { task: 'Look at the sales.' })
          .call('ask_researcher', { task: 'Read what customers say.' })
          .usage(2_100, 130),
        reply()
          .call('run_checks', { suite: 'smoke' })
          .call('publish_report', { title: 'Week 48', audience: 'customers' })
          .usage(2_600, 150),
        reply().text('The shop is in good order.').usage(2_900, 80),
      ],
    }),
    tools: [slow, publish, quickTool('read_page', 'Reads a page.'), ...DEFERRED],
    agents: [
      worker('analyst', 'Knows the sales.', [['query_sales', { query: 'week 48' }]]),
      worker('researcher', 'Reads pages.', [
        ['read_page', { query: 'reviews' }],
        ['read_page', { query: 'forum' }],
      ]),
    ],
  });
}
