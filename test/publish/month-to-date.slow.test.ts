import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addPeriods, type Period, periodAt, periodStartMs } from '../../src/core/period.ts';
import { closeMonth, openLedger, publish as runWith, usageRecord } from '../support/open-ledger.ts';
import { awayFromMonthEnd } from '../support/time/test-clock.ts';
import { expectSameViews } from './compare-views.ts';
import { copyServer } from './copy-server.ts';

await awayFromMonthEnd();
/** The view asks the clock which month is open: these histories end now, whenever that is. */
const NOW = Date.now();
const MONTH = periodAt(NOW);
const PREVIOUS = addPeriods(MONTH, -1);
const PREVIOUS_START = periodStartMs(PREVIOUS);
const HOUR_MS = 3_600_000;
const HISTORIES = Number(process.env.PUBLISH_HISTORIES ?? 10);

const copies = copyServer();

const READ = { last: [10, 20, 30, 40], open: [5, 6, 7, 8] };
const credits = fc.oneof(fc.nat(20_000), fc.constantFrom(0, 1, 2 ** 40));
const figures = fc.array(credits, { minLength: 4, maxLength: 4 });
const reading = fc.record({ last: figures, open: figures });
const histories = fc.record({
  /** As fractions of the time from the beginning of the last month until now. */
  anywhere: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), reading), { maxLength: 4 }),
  /** Hours before the same point of the last month: what was read more than 36 before it is no comparison. */
  before: fc.array(fc.tuple(fc.nat(72), reading), { maxLength: 3 }),
  now: reading,
  closes: fc.boolean(),
});

test('the month to date has the rows of SQLite, whatever was read when and closed', {
  timeout: Math.max(120_000, HISTORIES * 3_000),
}, async () => {
  let rows = 0;
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(histories, async ({ anywhere, before, now, closes }) => {
      const { reader, publish } = await copies.open();
      const { connection, path } = openLedger();
      const samePoint = PREVIOUS_START + NOW - periodStartMs(MONTH);
      const readings = [
        ...anywhere.map(([at, read]) => ({ atMs: PREVIOUS_START + at * (NOW - PREVIOUS_START), ...read })),
        ...before.map(([hours, read]) => ({ atMs: Math.max(PREVIOUS_START, samePoint - hours * HOUR_MS), ...read })),
        { atMs: NOW, ...now },
      ].sort((a, b) => a.atMs - b.atMs);
      for (const [index, { atMs, last, open }] of readings.entries()) {
        const nowMs = Math.floor(atMs) + index;
        const opened = periodAt(nowMs) === MONTH ? recordsOf(MONTH, open) : [];
        await runWith(connection, [...recordsOf(PREVIOUS, last), ...opened], { nowMs });
      }
      if (closes) closeMonth(connection, PREVIOUS, NOW + readings.length);
      await publish(path, { nowMs: NOW });
      await expectSameViews(connection, reader, 'month to date');
      const found = connection.prepare('SELECT previous_credits_same_point AS before FROM finance_month_to_date').all();
      rows += found.length;
      compared += (found as { before: number | null }[]).filter(({ before }) => before !== null).length;
    }),
    // One that has something to compare with comes first.
    {
      numRuns: HISTORIES,
      endOnFailure: true,
      examples: [[{ anywhere: [], before: [[0, READ]], now: READ, closes: false }]],
    },
  );
  expect(rows).toBeGreaterThan(0);
  expect(compared).toBeGreaterThan(0);
});

function recordsOf(period: Period, values: readonly number[]) {
  return values.map((value, index) => usageRecord(`tenant-${index}`, value, period));
}
