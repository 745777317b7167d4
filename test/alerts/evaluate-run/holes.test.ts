import { expect, test } from 'vitest';
import { alertRows } from '../../../src/alerts/queries/alerts.ts';
import { nextSummary, put, startWithHistory, states, told } from './scene.ts';

const DAY_MS = 86_400_000;

test('an alert of a settled month leaves the open list when its month is no longer looked at', async () => {
  const { upstream, sync, view, clock, context } = await startWithHistory();
  put(upstream, 'a', ['2026-03', 16_000]);
  await sync();
  const ledger = view();
  const open = () =>
    alertRows(context.reader().connection, { states: 'open', tenantId: 'a', nowMs: clock.now() }).length;
  for (const month of [3, 4]) {
    clock.set(Date.UTC(2026, month, 3, 1));
    await sync();
    expect([states(ledger, 'jump'), open()]).toEqual([['jump a 2026-03 firing'], 1]);
  }
  // Two months before June: April.
  clock.set(Date.UTC(2026, 5, 1) + DAY_MS);
  await sync();
  expect([states(ledger, 'jump'), open()]).toEqual([['jump a 2026-03 expired'], 0]);
  await nextSummary({ clock, context });
  expect(told(ledger).filter((each) => each.startsWith('jump'))).toEqual([
    'jump alert.firing a',
    'jump alert.escalated a',
    'jump alert.resolved a',
  ]);
  const changes = `SELECT change FROM alert_transitions JOIN alerts USING (alert_key) WHERE rule = 'jump' ORDER BY 1`;
  expect(ledger.rows(changes).map(({ change }) => change)).toEqual(['escalated', 'expired', 'fired']);
});
