import { addPeriods, elapsedFraction, periodAt, periodStartMs } from '../../../src/core/period.ts';
import { startFixture } from '../../support/sandbox-fixture.ts';
import { creditsAt, type PlantedTenant } from './plant.ts';

const RUN_EVERY_MS = 6 * 3_600_000;

export interface Year {
  tenants: readonly PlantedTenant[];
  /** The first and the last month, both included; two months of history lie before. */
  from: string;
  to: string;
  /** In this month every tenant uses nine tenths of a month's usage more within one day. */
  bulge: string;
}

/** A notification as it stands in the outbox. */
export interface Told {
  rule: string;
  type: string;
  stage: string;
  level: number;
  tenant_id: string | null;
  period: string | null;
}

export interface Simulated {
  runs: number;
  told: Told[];
}

/** Plays the months against the sandbox at four runs a day, each over a real socket into a real ledger. */
export async function simulateYear({ tenants, from, to, bulge }: Year): Promise<Simulated> {
  const { upstream, clock, sync, view } = await startFixture({
    settings: { lookbackPeriods: 1, consistency: 'counted', concurrency: 8 },
  });
  const setMonth = (month: string, f: number): void => {
    for (const [index, tenant] of tenants.entries()) {
      const credits = creditsAt(tenant, index, month, f, bulge);
      if (credits === null) continue;
      upstream.set({ tenantId: tenant.id, period: month, credits, requests: Math.floor(credits / 10) });
    }
  };
  for (const before of [2, 1]) setMonth(addPeriods(from, -before), 1);
  const endMs = periodStartMs(addPeriods(to, 1)) + 3 * 86_400_000;
  let runs = 0;
  for (let nowMs = periodStartMs(from); nowMs <= endMs; nowMs += RUN_EVERY_MS) {
    clock.set(nowMs);
    const month = periodAt(nowMs);
    const f = elapsedFraction(month, nowMs);
    if (f === 0) setMonth(addPeriods(month, -1), 1);
    setMonth(month, f);
    await sync();
    runs += 1;
  }
  const ledger = view();
  return {
    runs,
    told: ledger
      .rows('SELECT payload FROM outbox ORDER BY rowid')
      .map(({ payload }) => JSON.parse(String(payload)) as Told),
  };
}

/** How often each kind of notification was sent, such as `jump fired pace`. */
export function tally(told: readonly Told[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { rule, type, stage, level } of told) {
    const change = type === 'alert.escalated' && level > 0 ? `grown ${level}` : type.replace('alert.', '');
    const key = `${rule} ${change} ${stage}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).sort());
}

/** Who was told of, each once, such as `jump rise-2026-03-0 2026-03`. */
export function subjects(told: readonly Told[]): string[] {
  return [...new Set(told.map(({ rule, tenant_id, period }) => `${rule} ${tenant_id ?? '*'} ${period}`))].sort();
}
