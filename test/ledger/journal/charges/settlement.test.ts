import { expect, test } from 'vitest';
import type { RateCardText } from '../../../../src/billing/rates/rate-card-schema.ts';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { chargeReopened, commitClose } from '../../../../src/ledger/journal/charges/commit-close.ts';
import { setCards } from '../../../../src/ledger/journal/charges/set-cards.ts';
import { noteUnsettled, readUnsettled, settleCharges } from '../../../../src/ledger/journal/charges/settlement.ts';
import { closePeriod, reopenPeriod } from '../../../../src/ledger/journal/close/close-period.ts';
import type { LedgerConnection } from '../../../../src/ledger/store/file/open.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const CARD: RateCardText = {
  name: 'standard',
  from_period: '2026-01',
  currency: 'EUR',
  price_per_credit: '0.01',
  minimum: '50.00',
};
const DUE = {
  workspaceId: 'ws-1',
  tenantId: 'late',
  period: '2026-01',
  credits: 0n,
  amountMinor: -5000n,
  currency: 'EUR',
};
const EVENT = { workspaceId: 'ws-1', by: 'Ada', note: 'test' };

/** As an older version left it: January was reopened, and the minimum of a late tenant never taken back. */
async function olderLedger(): Promise<LedgerConnection> {
  const { connection } = openLedger();
  setCards(connection, { cards: [CARD], source: 'import', nowMs: NOON });
  const records = [usageRecord('acme', 9000, '2026-01'), usageRecord('acme', 9000, '2026-02')];
  await publish(connection, records, { nowMs: NOON + 1 });
  closePeriod(connection, { ...EVENT, period: '2026-01', force: true, settleHours: 48, nowMs: NOON + 2 }, commitClose);
  await publish(connection, [...records, usageRecord('late', 0, '2026-01')], { nowMs: NOON + 3 });
  reopenPeriod(connection, { ...EVENT, period: '2026-01', nowMs: NOON + 4 }, chargeReopened);
  connection.exec(`DROP TRIGGER charge_corrections_no_delete; DROP TRIGGER row_changes_no_delete; DROP TRIGGER charge_corrections_guard_delete;
    DELETE FROM charge_corrections WHERE cause = 'reopen'; DELETE FROM row_changes WHERE table_name = 'charge_corrections'
      AND row_key NOT IN (SELECT correction_id FROM charge_corrections)`);
  return connection;
}

const money = (connection: LedgerConnection) => checkMoney(connection).map(({ message }) => message);
const billed = (connection: LedgerConnection) =>
  connection.prepare("SELECT cause, amount FROM finance_charge_lines WHERE kind = 'correction' ORDER BY cause").all();

test('a ledger from before the rule books nothing by itself: what differs is written down, and booked by an act', async () => {
  const connection = await olderLedger();
  expect(money(connection)).toEqual([
    '2026-01 of tenant "late" in workspace "ws-1" was charged 50.00 EUR and owes nothing beside its own charge',
  ]);

  noteUnsettled(connection);
  expect(money(connection)).toEqual([]);
  expect(readUnsettled(connection)).toEqual([DUE]);
  expect(billed(connection)).toEqual([{ cause: 'usage', amount: '50.00' }]);
  noteUnsettled(connection);
  expect(readUnsettled(connection)).toEqual([DUE]);

  expect(settleCharges(connection, { nowMs: NOON + 5 })).toEqual([DUE]);
  expect(billed(connection)).toEqual([
    { cause: 'settlement', amount: '-50.00' },
    { cause: 'usage', amount: '50.00' },
  ]);
  expect(readUnsettled(connection)).toEqual([]);
  expect(settleCharges(connection, { nowMs: NOON + 6 })).toEqual([]);
  expect(money(connection)).toEqual([]);
});

test('what happens before it is settled books its own difference alone', async () => {
  const connection = await olderLedger();
  noteUnsettled(connection);
  closePeriod(connection, { ...EVENT, period: '2026-01', force: true, settleHours: 48, nowMs: NOON + 5 }, commitClose);
  const records = [usageRecord('acme', 9000, '2026-01'), usageRecord('acme', 9000, '2026-02')];
  await publish(connection, [...records, usageRecord('late', 6000, '2026-01')], { nowMs: NOON + 6 });

  expect(billed(connection)).toEqual([
    { cause: 'usage', amount: '50.00' },
    { cause: 'usage', amount: '10.00' },
  ]);
  expect(readUnsettled(connection)).toEqual([DUE]);
  expect(money(connection)).toEqual([]);
});

test('a new ledger has nothing to settle', async () => {
  const { connection } = openLedger();
  noteUnsettled(connection);
  expect(readUnsettled(connection)).toEqual([]);
  expect(verifyLedger(connection, [checkMoney]).faults).toEqual([]);
});
