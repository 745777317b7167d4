import { expect, test } from 'vitest';
import { addSilence } from '../../../src/alerts/actions.ts';
import { DAY_MS } from './day-world.ts';
import { CHANGED, play } from './notified-newcomers.ts';

test('a tenant with a new id is one alert that names both ids', async () => {
  const world = await play({});
  expect(world.told()).toEqual(['new_spend likely firing initech']);
  expect(world.summaries('new_spend')[0]).toMatch(
    /^initech \(ws-1\): probably the new id of globex, 1,155 credits in March\. globex: 330 a day, nothing since 10 March\. initech: 330 a day since it began\. Forecast: [\d,]+ to [\d,]+\.$/,
  );
  expect(
    world.rows(
      "SELECT silent_because LIKE 'inhibited:alert_%' FROM alert_transitions t JOIN alerts a USING (alert_key) WHERE a.rule = 'drop' AND t.change = 'fired'",
    ),
  ).toEqual([1]);
});

test('when the old id is used again, the new tenant is sent on its own', async () => {
  const world = await play({ returnsMs: Date.UTC(2026, 2, 20) });
  expect(world.told()).toEqual(['new_spend likely firing initech', 'new_spend happened escalated initech']);
  expect(world.summaries('new_spend')[1]).toContain('Not the new id of another tenant: that one uses credits again.');
});

test.each([
  ['with another volume', { newDaily: 990 }],
  ['more than a week later', { beginsMs: CHANGED + 9 * DAY_MS }],
  ['long before', { beginsMs: CHANGED - 4 * DAY_MS }],
])('who begins %s is another tenant: both are told as themselves', async (_, story) => {
  const world = await play({ ...story, untilMs: Date.UTC(2026, 2, 28) });
  expect(world.told().sort()).toEqual(
    expect.arrayContaining(['drop likely firing globex', 'new_spend happened firing initech']),
  );
});

test('a channel that does not take the new tenant is sent the stop', async () => {
  const world = await play({
    beforeDay: ({ connection }, dayMs) => {
      if (dayMs !== CHANGED) return;
      addSilence(connection, {
        ...{ kind: 'silence', workspaceId: 'ws-1', rule: 'new_spend', tenant: 'initech', period: '*' },
        ...{ upToCredits: null, untilMs: CHANGED + 90 * DAY_MS, reason: 'known', by: 'a', nowMs: dayMs },
      });
    },
  });
  expect(world.told()).toEqual(['drop likely firing globex']);
});
