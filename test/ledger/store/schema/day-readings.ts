import fc from 'fast-check';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { publish, usageRecord } from '../../../support/open-ledger.ts';
import { awayFromMonthEnd } from '../../../support/time/test-clock.ts';

await awayFromMonthEnd();

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** The views ask SQLite for the time: the open month is this one. */
export const THIS_SECOND = Math.floor(Date.now() / 1000) * 1000;
export const MONTH = new Date(THIS_SECOND).toISOString().slice(0, 7);
export const MONTH_START = Date.parse(`${MONTH}-01T00:00:00Z`);
export const PREVIOUS = new Date(MONTH_START - DAY).toISOString().slice(0, 7);
export const PREVIOUS_START = Date.parse(`${PREVIOUS}-01T00:00:00Z`);
export const NEXT_START = Date.UTC(Number(MONTH.slice(0, 4)), Number(MONTH.slice(5)), 1);
export const TENANTS = ['acme', 'bolt', 'coil'];

export interface Reading {
  atMs: number;
  /** By `period tenant`. */
  credits: ReadonlyMap<string, number>;
}

export const credits = fc.uniqueArray(
  fc.record({
    key: fc.constantFrom(...[PREVIOUS, MONTH].flatMap((period) => TENANTS.map((tenant) => `${period} ${tenant}`))),
    credits: fc.nat(5000),
  }),
  { minLength: 1, maxLength: 5, selector: ({ key }) => key },
);

export async function record(
  connection: LedgerDb,
  list: readonly { at: number; credits: { key: string; credits: number }[] }[],
) {
  const known = new Map([[`${PREVIOUS} acme`, 1]]);
  const readings: Reading[] = [];
  for (const { at, credits: changed } of list) {
    for (const { key, credits: value } of changed) known.set(key, value);
    const atMs = PREVIOUS_START + at * 1000;
    const records = [...known].map(([key, value]) => usageRecord(key.slice(8), value, key.slice(0, 7)));
    await publish(connection, records, { nowMs: atMs });
    readings.push({ atMs, credits: new Map(known) });
  }
  return readings;
}
