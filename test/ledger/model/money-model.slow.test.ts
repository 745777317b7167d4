import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RateCardText } from '../../../src/billing/rates/rate-card-schema.ts';
import { checkMoney } from '../../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../../src/ledger/audit/verify/verify.ts';
import { replaceCards } from '../../../src/ledger/journal/charges/card-store.ts';
import { chargeOpenPeriods, setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { chargeReopened, commitClose } from '../../../src/ledger/journal/charges/commit-close.ts';
import { addLine, revokeLine } from '../../../src/ledger/journal/charges/manual-lines.ts';
import { billedTenants } from '../../../src/ledger/journal/charges/read-billed.ts';
import { closePeriod, reopenPeriod } from '../../../src/ledger/journal/close/close-period.ts';
import { registerRowDigest } from '../../../src/ledger/store/file/row-digest.ts';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';
import { migrateLedger } from '../../../src/ledger/store/schema/migrate.ts';
import { moneySumReader } from '../../../src/ledger/store/sum-money.ts';
import { publish } from '../../support/open-ledger.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { cards } from './draw-cards.ts';
import { areUnclear, type HandLine, keyOf, MoneyModel, PERIODS, TENANTS } from './money-model.ts';

const RUNS = Number(process.env.MODEL_RUNS ?? 40);
/** A failure prints the seed of the campaign; MODEL_SEED plays it again. */
const SEED = Number(process.env.MODEL_SEED ?? Date.now() % 0x7fff_ffff);

type Figure = { tenant: number; period: number; credits: bigint | null; requests: number };
type Step =
  | { do: 'publish'; figures: readonly Figure[] }
  | { do: 'cards'; cards: readonly RateCardText[] }
  | { do: 'costs'; cards: readonly RateCardText[] }
  | { do: 'line'; line: HandLine }
  | { do: 'revoke'; position: number }
  | { do: 'close' | 'reopen'; period: number };

const credits = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt(0n, 3000n) },
  { weight: 3, arbitrary: fc.constant(0n) },
  { weight: 3, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.bigInt(-500n, -1n) },
  { weight: 1, arbitrary: fc.bigInt(0n, 2n ** 61n) },
);
const figure: fc.Arbitrary<Figure> = fc.record({
  tenant: fc.nat(TENANTS.length - 1),
  period: fc.oneof(fc.constant(0), fc.nat(PERIODS.length - 1)),
  credits,
  requests: fc.constantFrom(0, 10, 10, 123_456),
});
const handLine: fc.Arbitrary<HandLine> = fc.record({
  tenant: fc.oneof(fc.constant(0), fc.nat(TENANTS.length - 1)),
  period: fc.oneof(fc.constant(0), fc.nat(PERIODS.length - 1)),
  amountMinor: fc.oneof(fc.bigInt(-5000n, -1n), fc.bigInt(1n, 10n ** 15n)),
  currency: fc.constantFrom('EUR', 'EUR', 'JPY', 'KWD'),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('publish' as const),
      figures: fc.array(figure, { minLength: 1, maxLength: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cards' as const), cards }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('costs' as const), cards }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('line' as const), line: handLine }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('revoke' as const), position: fc.nat(99) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('close', 'reopen'),
      period: fc.oneof(fc.constant(0), fc.nat(PERIODS.length - 1)),
    }),
  },
);
const history = fc
  .tuple(cards, cards, fc.array(step, { minLength: 4, maxLength: 14 }))
  .map(([first, costs, steps]): Step[] => [{ do: 'cards', cards: first }, { do: 'costs', cards: costs }, ...steps]);

/** What a campaign of so many histories must have met to mean anything. */
const MUST_MEET: readonly [histories: number, outcomes: readonly string[]][] = [
  [40, ['corrected', 'closed', 'unclear cards', 'line', 'requests', 'margin']],
  [
    400,
    [
      'late line',
      'revoked',
      'late revocation',
      'line taken back by a reopen',
      'line of a tenant without a price',
      'reopened with corrections',
      'unpriced',
      'negative',
      'corrected without credits',
      'margin of a corrected month',
      'other currency',
    ],
  ],
];

test('after any history, all documents about a tenant and month sum to the amount due in an independent model', {
  timeout: Math.max(300_000, RUNS * 2_000),
}, async () => {
  const image = emptyLedger();
  const met = new Set<string>();
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const connection = new Database(image);
      registerRowDigest(connection);
      connection.pragma('foreign_keys = ON');
      try {
        await play(connection, steps, met);
      } finally {
        connection.close();
      }
    }),
    { seed: SEED, numRuns: RUNS, interruptAfterTimeLimit: Math.max(280_000, RUNS * 1_900) },
  );
  const expected = MUST_MEET.flatMap(([histories, outcomes]) => (RUNS >= histories ? outcomes : []));
  expect(
    expected.filter((what) => !met.has(what)),
    `seed ${SEED}`,
  ).toEqual([]);
});

async function play(connection: LedgerDb, steps: readonly Step[], met: Set<string>): Promise<void> {
  const model = new MoneyModel();
  let nowMs = NOON;
  for (const [index, one] of steps.entries()) {
    nowMs += 3_600_000;
    await carryOut(connection, model, one, nowMs, met);
    const where = `step ${index}: ${one.do}`;
    expect(documentsOf(connection, model), where).toEqual(model.owed());
    expect(checkMoney(connection), where).toEqual([]);
    compareMargins(connection, model, met);
  }
  compareStatements(connection);
  expect(verifyLedger(connection).faults).toEqual([]);
  meet(connection, model, met);
}

async function carryOut(connection: LedgerDb, model: MoneyModel, step: Step, nowMs: number, met: Set<string>) {
  const request = { workspaceId: 'ws-1', by: 'Ada', note: 'test', nowMs };
  if (step.do === 'publish') {
    for (const { tenant, period, credits, requests } of step.figures) {
      model.set(tenant, period, credits, requests);
    }
    // The second run withdraws what the first has missed.
    for (const runMs of [nowMs, nowMs + 60_000]) {
      await publish(connection, model.listing(), { nowMs: runMs, withdraws: true });
    }
    return;
  }
  if (step.do === 'cards') {
    const request = { cards: step.cards, source: 'import', nowMs } as const;
    if (areUnclear(step.cards)) {
      met.add('unclear cards');
      expect(() => setCards(connection, request)).toThrow(expect.objectContaining({ code: 'unclear_cards' }));
      // An older version has put them into force.
      replaceCards(connection, request);
      chargeOpenPeriods(connection);
    } else setCards(connection, request);
    model.cards = step.cards;
    return;
  }
  if (step.do === 'costs') {
    const request = { cards: null, costs: step.cards, source: 'import', nowMs } as const;
    if (areUnclear(step.cards)) {
      expect(() => setCards(connection, request)).toThrow(expect.objectContaining({ code: 'unclear_cards' }));
      return;
    }
    setCards(connection, request);
    model.costCards = step.cards;
    return;
  }
  if (step.do === 'line') return addByHand(connection, model, step.line, nowMs, met);
  if (step.do === 'revoke') return revoke(connection, model, step.position, nowMs, met);
  const period = PERIODS[step.period] ?? '';
  if (step.do === 'close' && model.mayClose(period)) {
    closePeriod(connection, { ...request, period, force: true, settleHours: 48 }, commitClose);
    model.close(period);
    met.add('closed');
  } else if (step.do === 'reopen' && model.closed.has(period)) {
    const corrected = connection.prepare('SELECT 1 FROM finance_charge_lines WHERE corrects_period = ?').get(period);
    if (corrected !== undefined) met.add('reopened with corrections');
    reopenPeriod(connection, { ...request, period }, chargeReopened);
    model.closed.delete(period);
  }
}

function addByHand(connection: LedgerDb, model: MoneyModel, line: HandLine, nowMs: number, met: Set<string>): void {
  const { amountMinor, currency } = line;
  const [tenantId = '', period = ''] = [TENANTS[line.tenant], PERIODS[line.period]];
  const request = {
    workspaceId: 'ws-1',
    tenantId,
    period,
    amountMinor,
    currency,
    reason: `at ${nowMs}`,
    by: 'Ada',
    nowMs,
  };
  if (!model.knowsTenant(tenantId)) {
    expect(() => addLine(connection, request)).toThrow(expect.objectContaining({ code: 'unknown_tenant' }));
    return;
  }
  if (!model.knowsPeriod(period)) return;
  const { lineId, bookedPeriod } = addLine(connection, request);
  model.lines.set(lineId, line);
  expect(bookedPeriod !== null).toBe(model.closed.has(period));
  met.add(model.closed.has(period) ? 'late line' : 'line');
  if (model.isUnpriced(keyOf(tenantId, period))) met.add('line of a tenant without a price');
}

function revoke(connection: LedgerDb, model: MoneyModel, position: number, nowMs: number, met: Set<string>): void {
  const lineId = [...model.lines.keys()][position % Math.max(1, model.lines.size)];
  if (lineId === undefined) return;
  const { bookedPeriod } = revokeLine(connection, { lineId, by: 'Bo', reason: 'a slip', nowMs });
  model.lines.delete(lineId);
  met.add(bookedPeriod === null ? 'revoked' : 'late revocation');
}

/** All lines about each key, wherever they are billed, by currency; what sums to nothing is left out. */
function documentsOf(connection: LedgerDb, model: MoneyModel): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { tenant_id, period, corrects_period, currency, amount_minor, reason } of linesOf(connection)) {
    const key = keyOf(String(tenant_id), String(corrects_period ?? period));
    // Of what has no price now nothing can be asked but lines by hand.
    if (amount_minor === null || (reason === null && model.isUnpriced(key))) continue;
    const place = `${key} ${currency}`;
    sums.set(place, (sums.get(place) ?? 0n) + (amount_minor as bigint));
  }
  return new Map([...sums].filter(([, sum]) => sum !== 0n).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Revenue is what is owed for the month, cost the price of what stands by the cost cards of now; other currencies are not compared. */
function compareMargins(connection: LedgerDb, model: MoneyModel, met: Set<string>): void {
  const [costs, owed] = [model.costs(), model.owed()];
  const rows = connection.prepare('SELECT * FROM finance_margin').safeIntegers().all() as Row[];
  const seen = rows.map(({ period, tenant_id, currency, cost_minor }) => {
    return [keyOf(String(tenant_id), String(period)), currency, cost_minor];
  });
  const due = [...costs].map(([key, { currency, amount }]) => [key, currency, amount]);
  expect(seen.sort()).toEqual(due.sort());
  const about = linesOf(connection);
  // A charge beyond 64 bits has no lines: its document says no amount, whatever corrects it later.
  const unknown = connection.prepare(
    "SELECT period || ' ' || tenant_id FROM finance_charges WHERE charge_minor IS NULL",
  );
  const unpriced = unknown.pluck().all();
  for (const { period, tenant_id, currency, revenue_minor, cost_minor, margin_minor, no_margin, ...row } of rows) {
    const key = keyOf(String(tenant_id), String(period));
    const own = about.filter(
      (line) => keyOf(String(line.tenant_id), String(line.corrects_period ?? line.period)) === key,
    );
    const isPlain =
      !unpriced.includes(`${period} ${tenant_id}`) &&
      own.every((line) => line.currency === currency && line.amount_minor !== null);
    const isPriced = model.currencyOf(key) === currency && !model.isUnpriced(key) && cost_minor !== null;
    if (isPlain && isPriced && own.length > 0) expect([key, no_margin]).toEqual([key, null]);
    if (row.revenue_currency !== null && row.revenue_currency !== currency) {
      expect([key, no_margin, margin_minor]).toEqual([key, 'other currency', null]);
      met.add('other currency');
    }
    if (no_margin !== null) continue;
    const revenue = owed.get(`${key} ${currency}`) ?? 0n;
    expect([key, revenue_minor, margin_minor]).toEqual([key, revenue, revenue - (cost_minor as bigint)]);
    met.add(own.some(({ kind }) => kind === 'correction') ? 'margin of a corrected month' : 'margin');
  }
}

type Row = Record<string, unknown>;

function linesOf(connection: LedgerDb): Row[] {
  return connection.prepare('SELECT * FROM finance_charge_lines').safeIntegers().all() as Row[];
}

/** The statement of each month has the lines of the view; who was withdrawn is not in it, and costs nothing. */
function compareStatements(connection: LedgerDb): void {
  const places = connection
    .prepare('SELECT period, period_key AS periodKey, closed_seq AS closedSeq FROM periods')
    .all();
  const billed: string[] = [];
  for (const { period, ...place } of places as { period: string; periodKey: number; closedSeq: number | null }[]) {
    for (const { tenantId, lines } of billedTenants(connection, place)) {
      for (const { kind, currency, amountMinor } of lines)
        billed.push([period, tenantId, kind, currency, amountMinor].join());
    }
  }
  const viewed = linesOf(connection).map((row) =>
    [row.period, row.tenant_id, row.kind, row.currency, row.amount_minor].join(),
  );
  const costing = (lines: string[]) => lines.filter((line) => !line.endsWith(',0')).sort();
  expect(costing(billed)).toEqual(costing(viewed));
  compareSums(connection, places as { period: string; periodKey: number }[]);
}

/** What is to be paid is the sum of the lines, by tenant in the view of charges and by month in what all reports sum up. */
function compareSums(connection: LedgerDb, places: readonly { period: string; periodKey: number }[]): void {
  const [byTenant, byMonth] = [new Map<string, bigint>(), new Map<string, bigint>()];
  const unpriced = new Set<string>();
  for (const { period, tenant_id, currency, amount_minor } of linesOf(connection)) {
    if (currency === null) continue;
    const place = [period, tenant_id, currency].join();
    if (amount_minor === null) unpriced.add(place);
    byTenant.set(place, (byTenant.get(place) ?? 0n) + ((amount_minor as bigint | null) ?? 0n));
    const month = [period, currency].join();
    byMonth.set(month, (byMonth.get(month) ?? 0n) + ((amount_minor as bigint | null) ?? 0n));
  }
  const charges = connection.prepare('SELECT * FROM finance_charges').safeIntegers().all() as Row[];
  for (const { period, tenant_id, currency, ...row } of charges) {
    const place = [period, tenant_id, currency].join();
    if (row.amount_minor !== null) {
      const sum = (row.charge_minor as bigint) + (row.correction_minor as bigint) + (row.manual_minor as bigint);
      expect([place, row.amount_minor, sum]).toEqual([place, byTenant.get(place), byTenant.get(place)]);
    } else if (row.charge_minor !== null) expect(unpriced).toContain(place);
    byTenant.delete(place);
  }
  expect([...byTenant.keys()]).toEqual([]);
  const sumsOf = moneySumReader(connection);
  for (const { period, periodKey } of places) {
    for (const { currency, amountMinor } of sumsOf(periodKey)) {
      expect([period, currency, amountMinor]).toEqual([period, currency, byMonth.get([period, currency].join()) ?? 0n]);
      byMonth.delete([period, currency].join());
    }
  }
  expect([...byMonth].filter(([, sum]) => sum !== 0n)).toEqual([]);
}

function meet(connection: LedgerDb, model: MoneyModel, met: Set<string>): void {
  const lines = linesOf(connection);
  const corrections = lines.filter(({ kind }) => kind === 'correction');
  if (corrections.length > 0) met.add('corrected');
  if (corrections.some(({ credits }) => credits === 0n)) met.add('corrected without credits');
  if (lines.some(({ kind, amount_minor }) => kind === 'requests' && amount_minor !== 0n)) met.add('requests');
  if (corrections.some(({ amount_minor }) => amount_minor === null)) met.add('unpriced');
  if (lines.some(({ cause, reason }) => cause === 'reopen' && reason !== null)) met.add('line taken back by a reopen');
  if (lines.some(({ tier, credits }) => tier === 0n && (credits as bigint) < 0n)) met.add('negative');
  if (model.closed.size === 0) met.add('all open');
}

/** The image of a migrated ledger: each history starts from a copy of it, in memory. */
function emptyLedger(): Buffer {
  const connection = new Database(':memory:');
  migrateLedger(connection, ':memory:', '0.0.0', 0);
  const image = connection.serialize();
  connection.close();
  return image;
}
