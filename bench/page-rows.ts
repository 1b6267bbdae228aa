import { loadavg } from 'node:os';
import { rounded } from './statistics.ts';

/** One figure of the page. */
export interface Row {
  readonly what: string;
  readonly value: string;
  readonly gate: string;
  readonly isMet: boolean;
  /** Of the machine, over the minute before. */
  readonly load: number;
}

export function row(what: string, value: string, gate = '', isMet = true): Row {
  return { what, value, gate, isMet, load: rounded(loadavg()[0] ?? 0, 1) };
}

/** A ratio that is to stay below another one, where `max` is given. */
export function shareRow(what: string, share: number, max?: number): Row {
  if (max === undefined) return row(what, percent(share));
  return row(what, percent(share), `< ${percent(max)}`, share < max);
}

function percent(share: number): string {
  return `${rounded(share * 100, 1)} %`;
}
