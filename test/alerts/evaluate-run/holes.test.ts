import { expect, test } from 'vitest';
import { findListedAlerts } from '../../../src/alerts/queries/alerts.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/schema/workspace-settings.ts';
import { notifications } from '../../support/messages.ts';
import { nextSummary, put, startWithHistory, states, told } from './scene.ts';

const DAY_MS = 86_400_000;

test('an alert about growth leaves the open list with its month, and its final figures are its last message', async () => {
  const { upstream, sync, view, clock, context } = await startWithHistory(3, {
    alerts: { ...DEFAULT_ALERT_RULES, tenants: [], criticalShare: 0.5 },
  });
  put(upstream, 'a', ['2026-03', 16_000]);
  put(upstream, 'b', ['2026-03', 900_000]);
  await sync();
  const ledger = view();
  const open = () =>
    findListedAlerts(context.reader().connection, { states: 'open', nowMs: clock.now() }).map(
      ({ rule, tenant_id, level, severity }) => `${rule} ${tenant_id} ${level} ${severity}`,
    );
  for (const [month, day, listed] of [
    [2, 31, ['jump b happened critical', 'jump a happened warning']],
    [3, 1, ['jump b happened critical']],
    [3, 3, ['drop c settled warning']],
    [3, 10, ['drop c settled warning']],
    [3, 11, []],
  ] as const) {
    clock.set(Date.UTC(2026, month, day, 1));
    await sync();
    expect(open()).toEqual(listed);
  }
  expect(states(ledger, 'jump')).toEqual(['jump a 2026-03 firing', 'jump b 2026-03 firing']);
  // Two months before June: April.
  clock.set(Date.UTC(2026, 5, 1) + DAY_MS);
  await sync();
  expect(states(ledger, 'jump')).toEqual(['jump a 2026-03 expired', 'jump b 2026-03 expired']);
  await nextSummary({ clock, context });
  expect(told(ledger).filter((each) => /^jump .* a$/.test(each))).toEqual([
    'jump alert.firing a',
    'jump alert.resolved a',
  ]);
  const last = notifications(ledger).findLast(
    ({ payload }) => payload.rule === 'jump' && payload.tenant_id === 'a',
  )?.payload;
  expect(last).toMatchObject({ event: 'closed', closed_because: 'settled', level: 'settled' });
  expect(last.summary).toMatch(/^a \(ws-1\): 16,000 .* March has settled\./);
  const changes = `SELECT change FROM alert_transitions JOIN alerts USING (alert_key) JOIN tenants USING (tenant_key)
    WHERE rule = 'jump' AND tenant_id = 'a' ORDER BY 1`;
  expect(ledger.rows(changes).map(({ change }) => change)).toEqual(['escalated', 'expired', 'fired']);
});
