import { beforeEach, describe, expect, test } from 'vitest';
import type { RateCardText } from '../../../../src/billing/rates/rate-card-schema.ts';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { chargeReopened, commitClose } from '../../../../src/ledger/journal/charges/commit-close.ts';
import { setCards } from '../../../../src/ledger/journal/charges/set-cards.ts';
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
const [JANUARY, FEBRUARY, MARCH] = ['2026-01', '2026-02', '2026-03'];

let connection: LedgerConnection;
let nowMs: number;
let figures: Map<string, number | bigint>;

beforeEach(() => {
  connection = openLedger().connection;
  nowMs = NOON;
  figures = new Map();
});

/** The service lists these from now on, and no more what is null; two runs see it. */
async function list(changes: Record<string, number | bigint | null>): Promise<void> {
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) figures.delete(key);
    else figures.set(key, value);
  }
  const records = [...figures].map(([key, value]) => {
    return { ...usageRecord(key.slice(8), value, key.slice(0, 7)), requests: value === 0 ? 0 : 10 };
  });
  for (const _ of [1, 2]) await publish(connection, records, { nowMs: tick(), withdraws: true });
}

function tick(): number {
  nowMs += 3_600_000;
  return nowMs;
}

function close(period: string | undefined): void {
  const request = { workspaceId: 'ws-1', period: period ?? '', by: 'Ada', note: '', force: true, settleHours: 48 };
  closePeriod(connection, { ...request, nowMs: tick() }, commitClose);
}

function reopen(period: string | undefined): void {
  const request = { workspaceId: 'ws-1', period: period ?? '', by: 'Ada', note: 'test', nowMs: tick() };
  reopenPeriod(connection, request, chargeReopened);
}

function putIntoForce(...cards: RateCardText[]): void {
  setCards(connection, { cards, source: 'import', nowMs: tick() });
}

/** The corrections in the order of their booking, as `booked corrected tenant amount cause`. */
function corrections(): string[] {
  const rows = connection.prepare(
    `SELECT b.period || ' ' || p.period || ' ' || t.tenant_id || ' ' || coalesce(x.amount_minor, 'unpriced') || ' ' || x.cause
     FROM charge_corrections x JOIN periods b ON b.period_key = x.booked_period_key
     JOIN periods p ON p.period_key = x.corrects_period_key JOIN tenants t USING (tenant_key) ORDER BY x.correction_id`,
  );
  return rows.pluck().all() as string[];
}

function charge(period: string | undefined, tenant: string): unknown {
  const sql = 'SELECT charge_minor FROM finance_charges WHERE period = ? AND tenant_id = ?';
  return connection.prepare(sql).pluck().get(period, tenant);
}

function expectSound(): void {
  expect(verifyLedger(connection, [checkMoney]).faults).toEqual([]);
}

/** January closed with acme at 121.50, February open. */
async function closeJanuary(card: RateCardText = CARD): Promise<void> {
  putIntoForce(card);
  await list({ '2026-01 acme': 12_150, '2026-02 acme': 10_000, '2026-03 acme': 10_000 });
  close(JANUARY);
}

describe('after a close', () => {
  test('more usage is charged by the card of the close in the next open month', async () => {
    await closeJanuary();
    putIntoForce({ ...CARD, price_per_credit: '7' });
    await list({ '2026-01 acme': 13_000 });
    expect(corrections()).toEqual(['2026-02 2026-01 acme 850 usage']);
    expect(charge(JANUARY, 'acme')).toBe(12_150);
    expectSound();
  });

  test('a tenant without usage that appears pays the minimum, and gets it back when it is withdrawn', async () => {
    await closeJanuary();
    await list({ '2026-01 late': 0 });
    expect(corrections()).toEqual(['2026-02 2026-01 late 5000 usage']);
    expectSound();
    await list({ '2026-01 late': null });
    expect(corrections().slice(1)).toEqual(['2026-02 2026-01 late -5000 withdrawal']);
    await list({ '2026-01 late': 0 });
    expect(corrections().slice(2)).toEqual(['2026-02 2026-01 late 5000 return']);
    expectSound();
  });

  test('usage that no card prices, or whose price is beyond 64 bits, says so, and keeps nobody else waiting', async () => {
    await closeJanuary({ ...CARD, tenant: 'a*', price_per_credit: '9' });
    await list({ '2026-01 other': 700, '2026-01 acme': 2n ** 61n, '2026-01 apple': 6000 });
    expect(corrections().sort()).toEqual([
      '2026-02 2026-01 acme unpriced usage',
      '2026-02 2026-01 apple 5400000 usage',
      '2026-02 2026-01 other unpriced usage',
    ]);
    expectSound();
    close(FEBRUARY);
    await list({ '2026-01 acme': 12_151 });
    expect(corrections().at(-1)).toBe('2026-03 2026-01 acme 900 usage');
    expectSound();
  });

  test('figures below 0 are priced as 0, or paid back where the card says so', async () => {
    await closeJanuary({ ...CARD, minimum: '0' });
    await list({ '2026-01 acme': -100 });
    expect(corrections()).toEqual(['2026-02 2026-01 acme -12150 usage']);
    putIntoForce({ ...CARD, credit_negative: true });
    await list({ '2026-02 acme': -100 });
    expect(charge(FEBRUARY, 'acme')).toBe(-100);
    expectSound();
  });
});

describe('a reopen', () => {
  test('takes back in the next open month what stands in one that was closed meanwhile', async () => {
    await closeJanuary();
    await list({ '2026-01 late': 0 });
    close(FEBRUARY);
    reopen(JANUARY);
    expect(corrections()).toEqual(['2026-02 2026-01 late 5000 usage', '2026-03 2026-01 late -5000 reopen']);
    close(JANUARY);
    expect(charge(JANUARY, 'late')).toBe(5000);
    expect(corrections()).toHaveLength(2);
    expectSound();
  });

  test('takes back each currency by itself', async () => {
    await closeJanuary();
    await list({ '2026-01 acme': 13_000 });
    close(FEBRUARY);
    reopen(JANUARY);
    putIntoForce({ ...CARD, currency: 'JPY', minimum: '0' });
    close(JANUARY);
    await list({ '2026-01 acme': 14_000 });
    expect(corrections()).toEqual([
      '2026-02 2026-01 acme 850 usage',
      '2026-03 2026-01 acme -850 reopen',
      '2026-03 2026-01 acme 10 usage',
    ]);
    expectSound();
  });
});

test('new cards change the estimates of open months, and nothing of closed ones', async () => {
  await closeJanuary();
  putIntoForce({ ...CARD, price_per_credit: '1' });
  expect(corrections()).toEqual([]);
  expect([charge(JANUARY, 'acme'), charge(MARCH, 'acme')]).toEqual([12_150, 1_000_000]);
  expectSound();
});
