import type { LedgerView } from '../../support/ledger-view.ts';
import { deliverWaiting, notifications } from '../../support/messages.ts';
import { type Fixture, startFixture } from '../../support/sandbox-fixture.ts';

export const HOUR_MS = 3_600_000;
const MONTHS = ['2026-01', '2026-02', '2026-03'];

/** Three months of ten thousand credits for tenants `a`, `b` and so on, March two thirds over; the first sync is done. */
export async function startWithHistory(tenants = 2, settings = {}): Promise<Fixture> {
  const fixture = await startFixture({ settings });
  for (const tenant of 'abcdefghijklmnop'.slice(0, tenants)) {
    put(fixture.upstream, tenant, ...MONTHS.map((month) => [month, month === '2026-03' ? 6_000 : 10_000] as const));
  }
  await fixture.sync();
  return fixture;
}

/** A run at the end of each day from the first to the last, both included, in which tenants use so much a day. */
export async function playDays(
  { upstream, clock, sync }: Fixture,
  first: string,
  last: string,
  tenants: Record<string, (day: string) => number>,
): Promise<void> {
  for (let dayMs = Date.parse(first); dayMs <= Date.parse(last); dayMs += 24 * HOUR_MS) {
    clock.set(dayMs);
    const monthStartMs = Date.parse(`${new Date(dayMs - 1).toISOString().slice(0, 7)}-01`);
    const period = new Date(dayMs - 1).toISOString().slice(0, 7);
    for (const [tenant, uses] of Object.entries(tenants)) {
      let credits = 0;
      for (let each = monthStartMs; each < dayMs; each += 24 * HOUR_MS) {
        credits += uses(new Date(each).toISOString().slice(0, 10));
      }
      put(upstream, tenant, [period, credits]);
    }
    await sync();
  }
}

export function put(upstream: Fixture['upstream'], tenantId: string, ...figures: (readonly [string, number])[]): void {
  for (const [period, credits] of figures) upstream.set({ tenantId, period, credits, requests: 10 });
}

export function states(ledger: LedgerView, rule?: string): string[] {
  const rows = ledger.rows('SELECT rule, tenant_id, period, state FROM finance_alerts ORDER BY rule, tenant_id');
  const wanted = rows.filter((row) => rule === undefined || row.rule === rule);
  return wanted.map((row) => `${row.rule} ${row.tenant_id ?? '*'} ${row.period} ${row.state}`);
}

export function told(ledger: LedgerView): string[] {
  return notifications(ledger).map(({ payload }) => `${payload.rule} ${payload.type} ${payload.tenant_id ?? '*'}`);
}

/** A day passes, in which the daily summary goes. */
export async function nextSummary({ clock, context }: Pick<Fixture, 'clock' | 'context'>): Promise<void> {
  clock.advance(24 * HOUR_MS);
  await deliverWaiting(context);
}
