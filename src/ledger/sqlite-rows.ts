import type { SQLOutputValue } from 'node:sqlite';
import { SwarmError } from '../errors.ts';

/** A row as `node:sqlite` gives it. */
export type SqliteRow = { readonly [column: string]: SQLOutputValue };

/** @throws SwarmError 'ledger-corrupt' for anything but a number */
export function numberIn(row: SqliteRow, column: string): number {
  const value = row[column];
  if (typeof value !== 'number') throw wrong(column, value);
  return value;
}

/** @throws SwarmError 'ledger-corrupt' for anything but a text */
export function textIn(row: SqliteRow, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw wrong(column, value);
  return value;
}

/** `undefined` for null. @throws SwarmError 'ledger-corrupt' for anything but a text or null */
export function optionalTextIn(row: SqliteRow, column: string): string | undefined {
  return row[column] === null ? undefined : textIn(row, column);
}

function wrong(column: string, value: SQLOutputValue | undefined): SwarmError {
  return new SwarmError(
    'ledger-corrupt',
    `a stored ${column} is a ${value === null ? 'null' : typeof value}`,
  );
}
