import { expect, test } from 'vitest';
import { alertRows } from '../../../src/alerts/queries/alerts.ts';
import { notifications } from '../../support/messages.ts';
import { nextSummary, put, startWithHistory, states, told } from './scene.ts';

const DAY_MS = 86_400_000;

test('a settled alert is sent as final, leaves the open list seven days later, and ends when its month leaves the window', async () => {
  const { upstream, sync, view, clock, context } = await startWithHistory();
  put(upstream, 'a', ['2026-03', 16_000]);
  await sync();
  const ledger = view();
  const open = () =>
    alertRows(context.reader().connection, { states: 'open', tenantId: 'a', nowMs: clock.now() }).length;
  for (const [month, day, listed] of [
    [3, 3, 1],
    [3, 10, 1],
    [3, 11, 0],
    [4, 3, 0],
  ] as const) {
    clock.set(Date.UTC(2026, month, day, 1));
    await sync();
    expect([states(ledger, 'jump'), open()]).toEqual([['jump a 2026-03 firing'], listed]);
  }
  // Two months before June: April.
  clock.set(Date.UTC(2026, 5, 1) + DAY_MS);
  await sync();
  expect([states(ledger, 'jump'), open()]).toEqual([['jump a 2026-03 expired'], 0]);
  await nextSummary({ clock, context });
  expect(told(ledger).filter((each) => each.startsWith('jump'))).toEqual([
    'jump alert.firing a',
    'jump alert.resolved a',
  ]);
  const last = notifications(ledger).findLast(({ payload }) => payload.rule === 'jump')?.payload;
  expect(last).toMatchObject({ event: 'closed', closed_because: 'settled', level: 'settled' });
  expect(last.summary).toMatch(/^a \(ws-1\): 16,000 .* March has settled\./);
  const changes = `SELECT change FROM alert_transitions JOIN alerts USING (alert_key) WHERE rule = 'jump' ORDER BY 1`;
  expect(ledger.rows(changes).map(({ change }) => change)).toEqual(['escalated', 'expired', 'fired']);
});
