import { expect, test } from 'vitest';
import { messages } from '../../support/messages.ts';
import { type Fixture, type FixtureOptions, startFixture } from '../../support/sandbox-fixture.ts';

/** March is over and its figures have settled for 48 hours. */
const SETTLED = Date.UTC(2026, 3, 3, 0, 0, 1);

test('notification ids are the same in each ledger that sees the same jump', async () => {
  const ids: unknown[] = [];
  for (let round = 0; round < 2; round += 1) {
    const { sync, view, jumpTo } = await startWithHistory();
    jumpTo(16_000);
    await sync();
    ids.push(messages(view()).map(({ id }) => id));
  }
  expect(ids[0]).toHaveLength(1);
  expect(ids[1]).toEqual(ids[0]);
});

test.each([{ lookbackPeriods: 0 }, { lookbackPeriods: 2 }])(
  'a jump that shows only after the end of its month is found with lookback $lookbackPeriods',
  async (settings) => {
    const { sync, view, clock, jumpTo } = await startWithHistory({ settings });

    clock.set(Date.UTC(2026, 3, 1, 6));
    jumpTo(16_000);
    await sync();

    const ledger = view();
    expect(ledger.rows('SELECT period, level FROM finance_alerts')).toEqual([{ period: '2026-03', level: 'happened' }]);
    clock.set(SETTLED);
    await sync();
    expect(ledger.value('SELECT level FROM finance_alerts')).toBe('settled');
  },
);

test('the first sync of a workspace seeds what it finds: an alert, but no notification', async () => {
  const { sync, view, upstream } = await startFixture();
  useHistory(upstream);
  upstream.set({ tenantId: 'jumper', period: '2026-03', credits: 16_000, requests: 10 });

  const { alerts } = await sync();
  await sync();

  const ledger = view();
  expect(alerts.changes).toMatchObject([{ change: 'fired', silent: true }]);
  expect(ledger.rows('SELECT level, state FROM finance_alerts')).toEqual([{ level: 'happened', state: 'firing' }]);
  expect(messages(ledger)).toEqual([]);
});

test('a correction of the previous period makes the unchanged current one a jump', async () => {
  const { sync, view, upstream } = await startWithHistory();
  upstream.set({ tenantId: 'jumper', period: '2026-02', credits: 2_000, requests: 10 });
  await sync();

  const ledger = view();
  expect(
    ledger.rows("SELECT period, previous_credits, current_credits FROM finance_alerts WHERE rule = 'jump'"),
  ).toEqual([{ period: '2026-03', previous_credits: 2_000n, current_credits: 6_000n }]);
});

interface JumpFixture extends Fixture {
  jumpTo(credits: number): void;
}

/** A workspace whose first sync is done: nothing jumps yet, and the threshold of `jumper` in March is 15,000. */
async function startWithHistory(options: FixtureOptions = {}): Promise<JumpFixture> {
  const fixture = await startFixture(options);
  const { upstream, sync } = fixture;
  useHistory(upstream);
  await sync();
  return {
    ...fixture,
    jumpTo: (credits) => upstream.set({ tenantId: 'jumper', period: '2026-03', credits, requests: 10 }),
  };
}

function useHistory(upstream: Fixture['upstream']): void {
  for (const tenantId of ['jumper', 'steady']) {
    upstream.set({ tenantId, period: '2026-01', credits: 10_000, requests: 10 });
    upstream.set({ tenantId, period: '2026-02', credits: 10_000, requests: 10 });
    upstream.set({ tenantId, period: '2026-03', credits: 6_000, requests: 10 });
  }
}
