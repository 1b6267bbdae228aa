// Two hundred tools of one back office: ten things to do in each of twenty places.
import { defineTool, type Tool } from 'swarmwright';
import { z } from 'zod';
import { type Entry, Records } from './records.ts';

const AREAS = {
  order: 'what a customer bought',
  payment: 'money that came in',
  refund: 'money that goes back to a customer',
  invoice: 'a bill that was sent',
  parcel: 'a shipment on its way',
  return: 'goods that come back',
  ticket: 'a complaint or question of a customer',
  customer: 'a person or company that buys',
  product: 'a thing that is sold',
  supplier: 'a company that is bought from',
  warehouse: 'a building with stock',
  coupon: 'a code for a discount',
  campaign: 'an advertisement',
  employee: 'a colleague',
  shift: 'working hours of a colleague',
  contract: 'a signed agreement',
  meeting: 'a date in the calendar',
  vehicle: 'a van or truck',
  route: 'the stops of a vehicle',
  report: 'figures of a month',
} as const;

const ORDERS: readonly Entry[] = [
  {
    number: 1042,
    title: 'espresso machine for Ann',
    status: 'delivered',
    log: ['sold', 'sent', 'delivered'],
  },
];

const byNumber = z.object({ number: z.number().int().describe('Its number.') });

/** The tools of the back office, each in the group of its area; deferred where that pays. */
export function createToolbox(): readonly Tool<unknown>[] {
  return Object.entries(AREAS).flatMap(([area, what]) => {
    const records = new Records(area, area === 'order' ? ORDERS : []);
    return [...lookingTools(area, what, records), ...changingTools(area, what, records)];
  });
}

/** What every tool of an area shares. */
const inArea = (area: string, action: string) => ({
  name: `${area}__${action}`,
  group: area,
  defer: 'auto' as const,
});

function lookingTools(area: string, what: string, records: Records): readonly Tool<unknown>[] {
  return [
    defineTool({
      ...inArea(area, 'find'),
      description: `Finds one ${area} by its number: ${what}.`,
      inputSchema: byNumber,
      execute: ({ number }) => records.get(number),
    }),
    defineTool({
      ...inArea(area, 'list'),
      description: `Lists every ${area}, newest first.`,
      inputSchema: z.object({
        status: z.string().optional(),
        limit: z.number().int().min(1).max(100).default(20),
      }),
      execute: ({ status, limit }) =>
        records
          .list()
          .filter((entry) => status === undefined || entry.status === status)
          .slice(0, limit),
    }),
    defineTool({
      ...inArea(area, 'history'),
      description: `Tells what happened to a ${area}.`,
      inputSchema: byNumber,
      execute: ({ number }) => records.get(number).log,
    }),
    defineTool({
      ...inArea(area, 'count'),
      description: `Counts each ${area} by status.`,
      inputSchema: z.object({}),
      execute: () => {
        const byStatus = Map.groupBy(records.list(), ({ status }) => status);
        return Object.fromEntries([...byStatus].map(([status, all]) => [status, all.length]));
      },
    }),
  ];
}

function changingTools(area: string, what: string, records: Records): readonly Tool<unknown>[] {
  return [
    defineTool({
      ...inArea(area, 'create'),
      description: `Creates a new ${area}: ${what}.`,
      inputSchema: z.object({
        title: z.string().min(1).describe('What it is about, in one line.'),
        about: z.number().int().optional().describe('Number of the record it refers to, if there is one.'),
      }),
      execute: ({ title, about }) => records.add(title, about),
    }),
    defineTool({
      ...inArea(area, 'rename'),
      description: `Changes the title of a ${area}.`,
      inputSchema: byNumber.extend({ title: z.string().min(1) }),
      execute: ({ number, title }) => records.change(number, { title }, 'renamed'),
    }),
    defineTool({
      ...inArea(area, 'assign'),
      description: `Gives a ${area} to a colleague.`,
      inputSchema: byNumber.extend({ to: z.string().min(1) }),
      execute: ({ number, to }) => records.change(number, { assignee: to }, `assigned to ${to}`),
    }),
    defineTool({
      ...inArea(area, 'comment'),
      description: `Writes a note below a ${area}.`,
      inputSchema: byNumber.extend({ text: z.string().min(1) }),
      execute: ({ number, text }) => records.change(number, {}, text),
    }),
    ...(['cancel', 'archive'] as const).map((action) =>
      defineTool({
        ...inArea(area, action),
        description: action === 'cancel' ? `Cancels a ${area}.` : `Puts a ${area} into the archive.`,
        inputSchema: byNumber,
        execute: ({ number }) =>
          records.change(number, { status: action === 'cancel' ? 'cancelled' : 'archived' }, action),
      }),
    ),
  ];
}
