import { expect, test } from 'vitest';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { setCards } from '../../../../src/ledger/journal/charges/charge-run.ts';
import { addLine } from '../../../../src/ledger/journal/charges/manual-lines.ts';
import { closeMonth, openLedger, publish, reopenMonth, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

test('the booking of a late manual line is not part of the price: a later change books only its own difference', async () => {
  const { connection } = openLedger();
  const [card, nowMs] = [{ name: 'flat', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' }, NOON];
  const listed = (credits: number) => [usageRecord('acme', credits, '2026-01'), usageRecord('acme', 1, '2026-02')];
  const booked = () =>
    connection
      .prepare('SELECT cause, card_key IS NULL, amount_minor FROM charge_corrections ORDER BY correction_id')
      .raw()
      .all();
  setCards(connection, { cards: [card], source: 'import', nowMs });
  await publish(connection, listed(1000), { nowMs });
  closeMonth(connection, '2026-01', nowMs);
  const line = { workspaceId: 'ws-1', tenantId: 'acme', period: '2026-01', currency: 'EUR', reason: 'fee', by: 'Ada' };
  addLine(connection, { ...line, amountMinor: 500n, nowMs });
  await publish(connection, listed(1200), { nowMs: nowMs + 60_000 });
  expect(booked()).toEqual([
    ['line', 1, 500],
    ['usage', 0, 200],
  ]);
  reopenMonth(connection, '2026-01', nowMs + 120_000);
  expect(booked().slice(2).sort()).toEqual([
    ['reopen', 0, -200],
    ['reopen', 1, -500],
  ]);
  expect(checkMoney(connection)).toEqual([]);
});
