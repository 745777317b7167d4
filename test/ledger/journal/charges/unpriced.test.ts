import { expect, test } from 'vitest';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { setCards } from '../../../../src/ledger/journal/charges/charge-run.ts';
import { closeMonth, openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const CARD = { name: 'standard', from_period: '2026-01', currency: 'EUR', price_per_credit: '9', tenant: 'a*' };
const HOUR_MS = 3_600_000;

test('usage without a card, or with a price over 64 bits, is reported and delays no other tenant', async () => {
  const { connection } = openLedger();
  let nowMs = NOON;
  const list = async (figures: Record<string, bigint>): Promise<void> => {
    nowMs += HOUR_MS;
    const records = Object.entries(figures).map(([tenant, credits]) => usageRecord(tenant, credits, '2026-01'));
    await publish(connection, [...records, usageRecord('acme', 1, '2026-02')], { nowMs });
  };
  setCards(connection, { cards: [CARD], source: 'import', nowMs });
  await list({ acme: 12_150n });
  closeMonth(connection, '2026-01', nowMs);

  await list({ acme: 2n ** 61n, apple: 6000n, other: 700n });
  const sql = `SELECT t.tenant_id || ' ' || coalesce(x.amount_minor, 'unpriced') FROM charge_corrections x
    JOIN tenants t USING (tenant_key) ORDER BY x.correction_id`;
  const corrections = (): unknown[] => connection.prepare(sql).pluck().all();
  expect(corrections().sort()).toEqual(['acme unpriced', 'apple 5400000', 'other unpriced']);
  expect(verifyLedger(connection, [checkMoney]).faults).toEqual([]);

  await list({ acme: 12_151n, apple: 6000n, other: 700n });
  expect(corrections().slice(3)).toEqual(['acme 900']);
  expect(verifyLedger(connection, [checkMoney]).faults).toEqual([]);
});
