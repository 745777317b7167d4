import { expect, test } from 'vitest';
import { alertMoments } from '../../../src/alerts/queries/alert-moments.ts';
import { alertRecord } from '../../../src/alerts/queries/alert-record.ts';
import { alertRows } from '../../../src/alerts/queries/alerts.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/resolve/resolve-alerts.ts';
import type { LedgerConnection } from '../../../src/ledger/store/file/open.ts';
import { startFixture } from '../../support/sandbox-fixture.ts';
import { put, startWithHistory, states, told } from './scene.ts';

const DAY_MS = 86_400_000;

test('an amount is a jump whatever the ratio, where it is set', async () => {
  const alerts = { ...DEFAULT_ALERT_RULES, tenants: [] };
  for (const [minIncrease, expected] of [
    [200_000, ['jump alert.firing large']],
    [null, []],
  ] as const) {
    const { upstream, sync, view } = await startFixture({ settings: { alerts: { ...alerts, minIncrease } } });
    put(upstream, 'large', ['2026-01', 600_000], ['2026-02', 600_000], ['2026-03', 400_000]);
    await sync();
    put(upstream, 'large', ['2026-03', 810_000]);
    await sync();
    expect(told(view())).toEqual(expected);
  }
});

test('growth of three months without a jump is a trend once the last of them has settled, and slower growth is none', async () => {
  const { upstream, sync, view, clock, context } = await startFixture();
  const months = ['2025-11', '2025-12', '2026-01', '2026-02', '2026-03'] as const;
  const usage = { grows: [10_000, 10_000, 12_600, 15_900, 20_000], creeps: [10_000, 10_000, 11_500, 13_200, 15_200] };
  for (const [tenant, credits] of Object.entries(usage)) {
    put(upstream, tenant, ...months.slice(0, 4).map((month, index) => [month, credits[index] ?? 0] as const));
  }
  await sync({ from: '2025-11' });
  for (const [tenant, credits] of Object.entries(usage)) put(upstream, tenant, ['2026-03', credits[4] ?? 0]);
  clock.set(Date.UTC(2026, 3, 2, 23));
  await sync();
  expect(states(view(), 'trend')).toEqual([]);
  clock.set(Date.UTC(2026, 3, 3, 1));
  await sync();
  expect(states(view(), 'trend')).toEqual(['trend grows 2026-03 firing']);

  // Asked for it, both what was told and what is so now are beside December.
  const { connection } = context.reader();
  const { told: before, now } = alertMoments(connection, alertRecord(connection, trendOf(connection)));
  for (const moment of [before, now]) {
    expect(moment?.notification).toMatchObject({
      ...{ previous_period: '2025-12', reason: 'intensity' },
      ...{ credits: { previous: 10_000n }, requests: { previous: 10n, current: 10n } },
    });
  }
});

test('an alert of a settled month leaves the open list when its month and its last change are no longer looked at', async () => {
  const { upstream, sync, view, clock, context } = await startWithHistory();
  put(upstream, 'a', ['2026-03', 16_000]);
  await sync();
  const ledger = view();
  const open = () => alertRows(context.reader().connection, { states: 'open', tenantId: 'a' }).length;
  for (const month of [3, 4, 5]) {
    clock.set(Date.UTC(2026, month, 3, 1));
    await sync();
    expect([states(ledger, 'jump'), open()]).toEqual([['jump a 2026-03 firing'], 1]);
  }
  // Two months before July: May. The month is March, and that it is final was told in April.
  clock.set(Date.UTC(2026, 6, 1) + DAY_MS);
  await sync();
  expect([states(ledger, 'jump'), open()]).toEqual([['jump a 2026-03 expired'], 0]);
  expect(told(ledger).filter((each) => each.startsWith('jump'))).toEqual([
    'jump alert.firing a',
    'jump alert.resolved a',
  ]);
  const changes = `SELECT change FROM alert_transitions JOIN alerts USING (alert_key) WHERE rule = 'jump' ORDER BY 1`;
  expect(ledger.rows(changes).map(({ change }) => change)).toEqual(['escalated', 'expired', 'fired']);
});

function trendOf(connection: LedgerConnection): string {
  return String(connection.prepare("SELECT alert_id FROM alerts WHERE rule = 'trend'").pluck().get());
}
