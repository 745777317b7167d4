import { describe, expect, it } from 'vitest';
import { findCloseStanding } from '../../../../src/ledger/journal/close/close-standing.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { countRows } from '../../../support/count-rows.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';

const HOUR = 3_600_000;
const PERIOD = '2026-02';
const END = Date.UTC(2026, 2, 1);
const RECORDS = [usageRecord('a', 100, PERIOD), usageRecord('b', 50, PERIOD)];

/** A ledger that was read this often, every hour since the month ended. */
async function readSince(walks: number): Promise<LedgerDb> {
  const { connection } = openLedger();
  for (let walk = 1; walk <= walks; walk += 1) await publish(connection, RECORDS, { nowMs: END + walk * HOUR });
  return connection;
}

function standing(connection: LedgerDb, nowMs: number) {
  return findCloseStanding(connection, { workspaceId: 'ws-1', period: PERIOD, settleHours: 0, nowMs });
}

describe('whether a month can be closed', () => {
  it('is decided from as many rows, however often it was read since its end', async () => {
    const rows: number[] = [];
    for (const walks of [14, 42]) {
      const connection = await readSince(walks);
      const counted = countRows(connection);
      counted.start();
      expect(standing(connection, END + 100 * HOUR)).toEqual({
        state: 'open',
        blockers: [],
        readAt: new Date(END + walks * HOUR).toISOString(),
        unchangedSince: new Date(END + HOUR).toISOString(),
      });
      rows.push(counted.rows);
    }
    expect(rows[1]).toBe(rows[0]);
  });

  it('counts only walks since the last change, and none that began in the future', async () => {
    const connection = await readSince(14);
    await publish(connection, [usageRecord('a', 101, PERIOD), usageRecord('b', 50, PERIOD)], {
      nowMs: END + 20 * HOUR,
    });
    const changed = standing(connection, END + 100 * HOUR);
    expect([changed.unchangedSince, changed.blockers.map(({ kind }) => kind)]).toEqual([
      new Date(END + 20 * HOUR).toISOString(),
      ['unproven'],
    ]);
    expect(standing(connection, END + 10 * HOUR)).toMatchObject({
      readAt: new Date(END + 20 * HOUR).toISOString(),
      unchangedSince: null,
      blockers: [{ kind: 'unread' }],
    });
  });
});
