import Database from 'better-sqlite3';
import type { RateCardText } from '../../../../src/billing/rates/rate-card-schema.ts';
import { setCards } from '../../../../src/ledger/journal/charges/charge-run.ts';
import { addLine, revokeLine } from '../../../../src/ledger/journal/charges/manual-lines.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { closeMonth, openLedger, publish, reopenMonth, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const CARD: RateCardText = {
  name: 'standard',
  from_period: '2026-01',
  currency: 'EUR',
  graduated: [{ up_to: 100, price_per_credit: '0.05' }, { price_per_credit: '0.01' }],
  discount_percent: '10',
};

/** Charges of open and closed periods, of several lines and of one, corrections of two kinds, lines by hand of three, and a second close. */
export async function buildChargedLedger(): Promise<LedgerDb> {
  const { connection } = openLedger();
  let nowMs = NOON;
  const figures = new Map<string, number>();
  const put = async (credits: Record<string, number>): Promise<void> => {
    for (const [key, value] of Object.entries(credits)) figures.set(key, value);
    nowMs += 60_000;
    const records = [...figures].map(([key, value]) => {
      const [period = '', tenant = ''] = key.split(' ');
      return usageRecord(tenant, value, period);
    });
    await publish(connection, records, { nowMs });
  };
  setCards(connection, { cards: [CARD], source: 'import', nowMs });
  await put({ '2026-01 acme': 150, '2026-01 globex': 70, '2026-02 acme': 300, '2026-02 idle': 0, '2026-03 acme': 10 });
  const ada = { workspaceId: 'ws-1', tenantId: 'acme', currency: 'EUR', by: 'Ada', nowMs };
  addLine(connection, { ...ada, period: '2026-01', amountMinor: -1250n, reason: 'goodwill' });
  closeMonth(connection, '2026-01', nowMs);
  const late = addLine(connection, { ...ada, period: '2026-01', amountMinor: 4900n, reason: 'set-up' });
  addLine(connection, { ...ada, period: '2026-02', amountMinor: 100n, reason: 'fee' });
  await put({ '2026-01 acme': 170, '2026-01 late': 5 });
  reopenMonth(connection, '2026-01', nowMs + 1);
  closeMonth(connection, '2026-01', nowMs);
  revokeLine(connection, { lineId: late.lineId, by: 'Bo', reason: 'a slip', nowMs });
  await put({ '2026-01 globex': 80 });
  return connection;
}

/** False where a key of SQLite's own forbids it. */
export function carryOut(connection: LedgerDb, sql: string): boolean {
  connection.pragma('foreign_keys = OFF');
  try {
    connection.exec(sql);
    return true;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CONSTRAINT')) return false;
    throw error;
  }
}
