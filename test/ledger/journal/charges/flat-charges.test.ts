import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PeriodPricer } from '../../../../src/billing/rates/period-pricer.ts';
import type { RateCard } from '../../../../src/billing/rates/rate-card.ts';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { cardsInForce } from '../../../../src/ledger/journal/charges/card-store.ts';
import { setCards } from '../../../../src/ledger/journal/charges/charge-run.ts';
import { writeFlatCharges } from '../../../../src/ledger/journal/charges/flat-charges.ts';
import { exactLines } from '../../../billing/rates/exact-charge.ts';
import { dropTriggers, openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const CARD = { name: 'flat', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.0125' };
const PERIOD = '2026-01';
const LARGEST = 2n ** 63n - 1n;

const decimal = fc
  .tuple(fc.bigInt(0n, 10n ** 9n), fc.nat(18))
  .map(
    ([digits, places]) =>
      `${digits / 10n ** BigInt(places)}.${String(digits % 10n ** BigInt(places)).padStart(places, '0')}`,
  )
  .map((text) => text.replace(/\.$/, ''));
const credits = fc.oneof(fc.bigInt(0n, 10_000n), fc.bigInt(0n, 2n ** 53n), fc.bigInt(0n, LARGEST));
const someCredits = fc.array(credits, { minLength: 3, maxLength: 3 });

test('SQLite charges a flat price like an independent model, or not at all', async () => {
  const { connection } = openLedger();
  await publish(
    connection,
    ['a', 'b', 'c'].map((tenant) => usageRecord(tenant, 1, PERIOD)),
  );
  dropTriggers(connection);
  setCards(connection, { cards: [CARD], source: 'import', nowMs: NOON });
  const periodKey = Number(connection.prepare('SELECT period_key FROM periods').pluck().get());
  const [stored] = cardsInForce(connection);
  const setCredits = connection.prepare('UPDATE tenant_usage SET credits_used = ? WHERE tenant_key = ?');
  const amounts = connection.prepare('SELECT amount_minor FROM charges ORDER BY tenant_key').pluck().safeIntegers();
  const met = { charged: 0, beyond: 0 };
  const terms = fc.record({
    pricePerCredit: decimal,
    currency: fc.constantFrom('EUR', 'JPY', 'KWD'),
    rounding: fc.constantFrom<RateCard['rounding'][]>('half_even', 'half_up'),
  });
  fc.assert(
    fc.property(terms, someCredits, ({ pricePerCredit, currency, rounding }, used) => {
      if (stored === undefined) throw new Error('no card is in force');
      const pricing = { model: 'graduated' as const, tiers: [{ upTo: null, pricePerCredit }] };
      const card = { ...stored, currency, rounding, pricing };
      connection.exec('DELETE FROM charges');
      for (const [at, figure] of used.entries()) setCredits.run(figure, at + 1);
      const owed = used.map((figure) => exactLines(card, figure)[0]?.amount ?? 0n);
      const isCharged = writeFlatCharges(connection, periodKey, new PeriodPricer([card], 'ws-1', PERIOD));
      met[isCharged ? 'charged' : 'beyond'] += 1;
      expect(amounts.all()).toEqual(isCharged ? owed : []);
      // What is not charged here is too large, before its division at least.
      const worth = used.map((figure) => figure * BigInt(pricePerCredit.replace('.', '')) * 1000n);
      if (!isCharged) expect(worth.some((one) => one > LARGEST)).toBe(true);
    }),
    { numRuns: 2000 },
  );
  expect(Math.min(met.charged, met.beyond)).toBeGreaterThan(100);
});

test('half a cent is rounded to the even cent, or up', async () => {
  for (const rounding of ['half_even', 'half_up'] as const) {
    const { connection } = openLedger();
    const card = { ...CARD, price_per_credit: '0.005', rounding };
    setCards(connection, { cards: [card], source: 'import', nowMs: NOON });
    await publish(
      connection,
      [1, 3, 5, 7].map((used) => usageRecord(`tenant-${used}`, used, PERIOD)),
    );
    expect(
      connection.prepare('SELECT amount_minor FROM charges ORDER BY credits_used').pluck().all(),
      rounding,
    ).toEqual(rounding === 'half_even' ? [0, 2, 2, 4] : [1, 2, 3, 4]);
  }
});

test('a run that opens whole months and changes others charges each key once', async () => {
  const { connection } = openLedger();
  setCards(connection, { cards: [CARD], source: 'import', nowMs: NOON });
  await publish(connection, [usageRecord('acme', 1000, '2026-02'), usageRecord('beta', 80, '2026-02')]);
  await publish(connection, [
    usageRecord('acme', 4, '2026-01'),
    usageRecord('acme', 2000, '2026-02'),
    usageRecord('beta', 80, '2026-02'),
    usageRecord('gamma', 800, '2026-02'),
    usageRecord('acme', 12_345, '2026-03'),
    usageRecord('gamma', -5, '2026-04'),
    usageRecord('acme', 400, '2026-05'),
  ]);
  const charged = connection.prepare(
    "SELECT period || ' ' || tenant_id || ' ' || charge_minor FROM finance_charges ORDER BY 1",
  );
  expect(charged.pluck().all()).toEqual([
    '2026-01 acme 5',
    '2026-02 acme 2500',
    '2026-02 beta 100',
    '2026-02 gamma 1000',
    '2026-03 acme 15431',
    '2026-04 gamma 0',
    '2026-05 acme 500',
  ]);
  expect(verifyLedger(connection, [checkMoney]).faults).toEqual([]);
});
