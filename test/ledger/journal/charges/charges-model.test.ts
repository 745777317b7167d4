import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooserFor } from '../../../../src/billing/rates/rate-book.ts';
import { type RateCard, resolveRateCard } from '../../../../src/billing/rates/rate-card.ts';
import type { RateCardText } from '../../../../src/billing/rates/rate-card-schema.ts';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { chargeReopened, commitClose } from '../../../../src/ledger/journal/charges/commit-close.ts';
import { billedTenants } from '../../../../src/ledger/journal/charges/read-billed.ts';
import { setCards } from '../../../../src/ledger/journal/charges/set-cards.ts';
import { closePeriod, reopenPeriod } from '../../../../src/ledger/journal/close/close-period.ts';
import type { LedgerConnection } from '../../../../src/ledger/store/file/open.ts';
import { exactLines } from '../../../billing/rates/exact-charge.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const PERIODS = ['2026-01', '2026-02', '2026-03'];
const TENANTS = ['acme', 'apple', 'globex'];
/** Three tenants of a period have so much together that their sum is below 2^63. */
const MOST = (2n ** 63n - 1n) / 3n;

type Step =
  | { do: 'publish'; figures: readonly { tenant: string; period: string; credits: bigint }[] }
  | { do: 'cards'; cards: RateCardText[] }
  | { do: 'close' | 'reopen'; period: string };

/** At most 1.25 of the minor unit, so that the charge of the most credits fits into 64 bits. */
const price = fc.constantFrom('0.0125', '0.005', '0.000000000000000001', '0');
const tier = (upTo: number) => price.map((price_per_credit) => ({ up_to: upTo, price_per_credit }));
const tiers = fc
  .tuple(tier(100), tier(1000), price)
  .map(([first, second, last]) => [...[first, second, { price_per_credit: last }]]);
const pricing = fc.oneof(
  price.map((price_per_credit) => ({ price_per_credit })),
  tiers.map((graduated) => ({ graduated })),
  tiers.map((volume) => ({ volume })),
  fc.constantFrom('9', '0.01').map((packagePrice) => ({ package: { credits: 1000, price: packagePrice } })),
);

const cardText: fc.Arbitrary<RateCardText> = fc
  .record({
    tenant: fc.option(fc.constantFrom('acme', 'a*'), { nil: undefined }),
    pricing,
    terms: fc.record({
      from_period: fc.constantFrom('2026-01', '2026-02'),
      currency: fc.constantFrom('EUR', 'JPY'),
      included_credits: fc.constantFrom(0, 100),
      minimum: fc.constantFrom('10', '0'),
      discount_percent: fc.constantFrom('0', '2.5'),
      rounding: fc.constantFrom('half_even', 'half_up'),
    }),
  })
  .map(({ tenant, pricing: priced, terms }) => ({
    name: `${tenant ?? 'all'} ${JSON.stringify(priced)}`.slice(0, 60),
    ...terms,
    ...priced,
    ...(tenant && { tenant }),
  }));

const cards = fc.uniqueArray(cardText, { maxLength: 4, selector: (card) => `${card.tenant} ${card.from_period}` });

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('publish' as const),
      figures: fc.uniqueArray(
        fc.record({
          tenant: fc.constantFrom(...TENANTS),
          period: fc.constantFrom(...PERIODS),
          credits: fc.oneof(fc.bigInt(0n, 3000n), fc.bigInt(0n, MOST)),
        }),
        { minLength: 1, maxLength: 6, selector: ({ tenant, period }) => tenant + period },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cards' as const), cards }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('close', 'reopen'), period: fc.constantFrom(...PERIODS) }) },
);

/** What the program must hold, kept beside it: the service's figures, the cards, and what each close has frozen. */
class Expected {
  readonly now = new Map<string, bigint>();
  cards: RateCard[] = [];
  readonly closed = new Map<string, { cards: RateCard[]; frozen: Map<string, bigint> }>();

  /** The amount of a key by these cards, from the exact calculation; null without a card. */
  price(inForce: RateCard[], tenant: string, period: string, credits: bigint | undefined) {
    const card = chooserFor(inForce, 'ws-1', period)(tenant);
    if (card === null) return null;
    const amount = credits === undefined ? 0n : exactLines(card, credits).reduce((sum, line) => sum + line.amount, 0n);
    return { currency: card.currency, amount };
  }
}

test('whatever is published, priced, closed and reopened, views and statements say what an exact calculation says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      const { connection } = openLedger();
      const expected = new Expected();
      let nowMs = NOON;
      for (const one of steps) {
        nowMs += 60_000;
        await carryOut(connection, expected, one, nowMs);
        checkViews(connection, expected);
      }
      checkStatements(connection);
      expect(verifyLedger(connection, [checkMoney]).faults).toEqual([]);
      connection.close();
    }),
    { numRuns: Number(process.env.MODEL_RUNS ?? 20) },
  );
}, 120_000);

async function carryOut(connection: LedgerConnection, expected: Expected, step: Step, nowMs: number): Promise<void> {
  const request = { workspaceId: 'ws-1', by: 'Ada', note: 'test', nowMs };
  if (step.do === 'publish') {
    for (const { tenant, period, credits } of step.figures) expected.now.set(`${period} ${tenant}`, credits);
    const records = [...expected.now].map(([key, credits]) => {
      const [period = '', tenant = ''] = key.split(' ');
      return usageRecord(tenant, credits, period);
    });
    await publish(connection, records, { nowMs });
  } else if (step.do === 'cards') {
    setCards(connection, { cards: step.cards, source: 'import', nowMs });
    expected.cards = step.cards.map(resolveRateCard);
  } else if (step.do === 'close') {
    const isKnown = [...expected.now.keys()].some((key) => key.startsWith(step.period));
    if (!isKnown || expected.closed.has(step.period)) return;
    closePeriod(connection, { ...request, period: step.period, force: true, settleHours: 48 }, commitClose);
    const frozen = new Map([...expected.now].filter(([key]) => key.startsWith(step.period)));
    expected.closed.set(step.period, { cards: expected.cards, frozen });
  } else if (expected.closed.has(step.period)) {
    reopenPeriod(connection, { ...request, period: step.period }, chargeReopened);
    expected.closed.delete(step.period);
  }
}

function checkViews(connection: LedgerConnection, expected: Expected): void {
  const charged = new Map<string, { currency: string; amount: bigint }>();
  const corrected = new Map<string, bigint>();
  for (const [key, credits] of expected.now) {
    const [period = '', tenant = ''] = key.split(' ');
    const close = expected.closed.get(period);
    const own = close === undefined ? credits : close.frozen.get(key);
    const price = expected.price(close?.cards ?? expected.cards, tenant, period, own);
    if (price !== null && own !== undefined) charged.set(key, price);
    if (close === undefined || price === null) continue;
    const after = expected.price(close.cards, tenant, period, credits);
    const difference = (after?.amount ?? 0n) - price.amount;
    if (difference !== 0n) corrected.set(key, difference);
  }
  const lines = readAll(connection, `SELECT * FROM finance_charge_lines`);
  const usage = lines.filter(({ kind }) => kind !== 'correction');
  expect(sumBy(usage, ({ period, tenant_id }) => `${period} ${tenant_id}`)).toEqual(
    new Map([...charged].map(([key, { amount }]) => [key, amount])),
  );
  const corrections = sumBy(
    lines.filter(({ kind }) => kind === 'correction'),
    ({ corrects_period, tenant_id }) => `${corrects_period} ${tenant_id}`,
  );
  for (const [key, sum] of corrections) if (sum === 0n) corrections.delete(key);
  expect(corrections).toEqual(corrected);
  const scope = ({ period, tenant_id, currency }: Row) => `${period} ${tenant_id} ${currency}`;
  const rows = readAll(connection, 'SELECT * FROM finance_charges');
  expect(sumBy(rows, scope)).toEqual(sumBy(lines, scope));
  expect(new Set(rows.map(scope)).size).toBe(rows.length);
}

function checkStatements(connection: LedgerConnection): void {
  const periods = connection.prepare('SELECT period_key AS periodKey, closed_seq AS closedSeq FROM periods').all();
  const billed: Row[] = [];
  for (const place of periods as { periodKey: number; closedSeq: number | null }[]) {
    const period = connection.prepare('SELECT period FROM periods WHERE period_key = ?').pluck().get(place.periodKey);
    for (const { tenantId, lines } of billedTenants(connection, place)) {
      for (const line of lines) {
        billed.push({ period, tenant_id: tenantId, currency: line.currency, amount_minor: line.amountMinor });
      }
    }
  }
  const scope = ({ period, tenant_id, currency }: Row) => `${period} ${tenant_id} ${currency}`;
  expect(sumBy(billed, scope)).toEqual(sumBy(readAll(connection, 'SELECT * FROM finance_charges'), scope));
}

type Row = Record<string, unknown>;

function readAll(connection: LedgerConnection, sql: string): Row[] {
  return connection.prepare(sql).safeIntegers().all() as Row[];
}

function sumBy(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0n) + (row.amount_minor as bigint));
  return new Map([...sums].sort(([a], [b]) => (a < b ? -1 : 1)));
}
