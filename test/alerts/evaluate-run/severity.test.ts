import { describe, expect, test } from 'vitest';
import type { AlertSettings } from '../../../src/config/types.ts';
import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { DAY_MS, dayWorld } from './day-world.ts';

const CARD = { name: 'standard', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01', tenant: 'acme' };

const JUMP = "SELECT level || ' ' || severity FROM finance_alerts WHERE rule = 'jump' AND tenant_id = 'acme'";

/**
 * The severities of the jump of acme, which used 10,000 credits in February of the 4,000,000 of its workspace: once March is
 * over, and once it has settled.
 */
async function severities(
  march: bigint,
  alerts: Partial<AlertSettings> = {},
  { isPriced = false } = {},
): Promise<string[]> {
  const world = dayWorld(alerts);
  if (isPriced)
    setCards(world.connection, { cards: [CARD], costs: null, source: 'import', nowMs: Date.UTC(2026, 0, 1) });
  for (const period of ['2025-12', '2026-01', '2026-02']) {
    world.state('acme', period, 10_000n);
    world.state('rest', period, 3_990_000n);
  }
  for (let atMs = Date.UTC(2026, 1, 20); atMs < Date.UTC(2026, 3, 1); atMs += DAY_MS) await world.read(atMs);
  world.state('acme', '2026-03', march);
  world.state('rest', '2026-03', 3_990_000n);
  const found: string[] = [];
  for (const atMs of [Date.UTC(2026, 3, 1, 1), Date.UTC(2026, 3, 3, 1)]) {
    await world.read(atMs);
    found.push(...(world.rows(JUMP) as string[]));
  }
  return found;
}

describe('a jump is critical', () => {
  test("from half a percent of the workspace's previous month, and a record once it has settled", async () => {
    expect(await severities(30_000n)).toEqual(['happened critical', 'settled warning']);
    expect(await severities(29_999n)).toEqual(['happened warning', 'settled warning']);
  });

  test('from another share, where one is set', async () => {
    expect((await severities(30_000n, { criticalShare: 0.006 }))[0]).toBe('happened warning');
    expect((await severities(34_000n, { criticalShare: 0.006 }))[0]).toBe('happened critical');
  });

  test('in money where a card prices the tenant, from a share of the price of the previous month', async () => {
    // February is priced at 100 EUR, and so is an increase of 10,000 credits.
    expect((await severities(20_000n, { criticalShare: 1 }, { isPriced: true }))[0]).toBe('happened critical');
    expect((await severities(19_999n, { criticalShare: 1 }, { isPriced: true }))[0]).toBe('happened warning');
    expect((await severities(20_000n, { criticalShare: 1 }))[0]).toBe('happened warning');
  });

  test('from an amount, where one is set and a card prices the tenant', async () => {
    const alerts = { criticalShare: 0, criticalAmount: 200 };
    expect((await severities(30_000n, alerts, { isPriced: true }))[0]).toBe('happened critical');
    expect((await severities(29_999n, alerts, { isPriced: true }))[0]).toBe('happened warning');
  });

  test('by what was used in a first month with usage on fewer than ten days, else by its rate', async () => {
    expect(await afterFirstMonth('2026-02-25', 21_000n)).toBe('happened critical');
    expect(await afterFirstMonth('2026-02-25', 20_999n)).toBe('happened warning');
    expect(await afterFirstMonth('2026-02-17', 21_000n)).toBe('happened warning');
  });
});

/** The severity of the jump of acme, which began on a day of February and used 1,000 credits of its 4,000,000. */
async function afterFirstMonth(began: string, march: bigint): Promise<string | undefined> {
  const world = dayWorld();
  for (const period of ['2025-12', '2026-01', '2026-02']) world.state('rest', period, 3_999_000n);
  const days = (Date.UTC(2026, 2, 1) - Date.parse(began)) / DAY_MS;
  await world.read(Date.UTC(2026, 0, 30));
  for (let atMs = Date.UTC(2026, 1, 16); atMs <= Date.UTC(2026, 2, 1); atMs += DAY_MS) {
    const used = (atMs - Date.parse(began)) / DAY_MS;
    if (used > 0) world.state('acme', '2026-02', BigInt(Math.round((1_000 * used) / days)));
    await world.read(atMs + 3_600_000);
  }
  world.state('rest', '2026-03', 3_999_000n);
  world.state('acme', '2026-03', march);
  await world.read(Date.UTC(2026, 3, 1, 1));
  return (world.rows(JUMP) as string[])[0];
}
