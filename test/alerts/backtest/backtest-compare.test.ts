import { expect, test } from 'vitest';
import { compareStories } from '../../../src/alerts/backtest/compare.ts';
import type { AlertStory } from '../../../src/alerts/backtest/stories.ts';

const HOUR_MS = 3_600_000;

test('alerts and notifications are counted by period and rule, and tenants once each', () => {
  const { periods, rules, total, tenants } = compareStories({
    today: [
      story('a', ['happened', 1], { notifications: 2 }),
      story('a', ['settled', 1], { rule: 'drop', period: '2026-03' }),
      story(null, ['happened', 1], { rule: 'workspace_jump' }),
    ],
    proposed: [story('b', ['happened', 1], { period: '2026-03' })],
  });
  expect(periods).toEqual([
    {
      period: '2026-02',
      total: { today: { alerts: 2, notifications: 3 }, proposed: { alerts: 0, notifications: 0 } },
      tenants: { today: 1, proposed: 0 },
      rules: [
        { rule: 'jump', counts: counts([1, 2], [0, 0]) },
        { rule: 'workspace_jump', counts: counts([1, 1], [0, 0]) },
      ],
    },
    {
      period: '2026-03',
      total: { today: { alerts: 1, notifications: 1 }, proposed: { alerts: 1, notifications: 1 } },
      tenants: { today: 1, proposed: 1 },
      rules: [
        { rule: 'jump', counts: counts([0, 0], [1, 1]) },
        { rule: 'drop', counts: counts([1, 1], [0, 0]) },
      ],
    },
  ]);
  expect(rules.map(({ rule }) => rule)).toEqual(['jump', 'drop', 'workspace_jump']);
  expect(total).toEqual(counts([3, 4], [1, 1]));
  expect(tenants).toEqual([
    { tenantId: 'a', alerts: { today: 2, proposed: 0 }, notifications: { today: 3, proposed: 0 } },
    { tenantId: 'b', alerts: { today: 0, proposed: 1 }, notifications: { today: 0, proposed: 1 } },
  ]);
});

test('lead times are those of alerts that went from the level to final, with median and range', () => {
  const { leads } = compareStories({
    today: [
      story('a', ['likely', 0], ['happened', 10], ['settled', 40]),
      story('b', ['likely', 5], ['likely', 8], ['settled', 15]),
      story('c', ['happened', 0]),
      story(null, ['happened', 0], ['settled', 7], { rule: 'workspace_jump' }),
    ],
    proposed: [],
  });
  const none = { alerts: 0, medianMs: null, shortestMs: null, longestMs: null };
  const lead = (alerts: number, ...hours: number[]) => {
    const [medianMs, shortestMs, longestMs] = hours.map((each) => each * HOUR_MS);
    return { alerts, medianMs, shortestMs, longestMs };
  };
  expect(leads).toEqual([
    { rule: 'jump', level: 'likely', lead: { today: lead(2, 25, 10, 40), proposed: none } },
    { rule: 'jump', level: 'happened', lead: { today: lead(1, 30, 30, 30), proposed: none } },
    { rule: 'workspace_jump', level: 'likely', lead: { today: none, proposed: none } },
    { rule: 'workspace_jump', level: 'happened', lead: { today: lead(1, 7, 7, 7), proposed: none } },
  ]);
});

test('a pace came true, never did, or is undecided while its alert is open', () => {
  const { paces } = compareStories({
    today: [
      story('a', ['likely', 0], ['happened', 10]),
      story('b', ['likely', 0], { open: false }),
      story('c', ['likely', 0], { open: true }),
      story('d', ['happened', 0]),
    ],
    proposed: [story('a', ['likely', 0], ['settled', 10])],
  });
  expect(paces[0]).toEqual({
    rule: 'jump',
    outcome: {
      today: { told: 3, cameTrue: 1, neverTrue: 1, undecided: 1 },
      proposed: { told: 1, cameTrue: 1, neverTrue: 0, undecided: 0 },
    },
  });
});

test('alerts of one side alone are listed with their highest level, and those of both that differ with the delay', () => {
  const alike = story('same', ['happened', 3]);
  const { only, shifted } = compareStories({
    today: [alike, story('lost', ['likely', 1], ['settled', 9]), story('late', ['likely', 1], ['settled', 9])],
    proposed: [alike, story('late', ['happened', 6]), story('lost', ['happened', 2], { rule: 'new_spend' })],
  });
  const subject = { rule: 'jump', period: '2026-02' };
  expect(only).toEqual({
    today: [{ ...subject, tenantId: 'lost', level: 'settled', firstMs: HOUR_MS }],
    proposed: [{ ...subject, rule: 'new_spend', tenantId: 'lost', level: 'happened', firstMs: 2 * HOUR_MS }],
  });
  expect(shifted).toEqual([
    {
      ...{ ...subject, tenantId: 'late', laterMs: 5 * HOUR_MS },
      sides: { today: { level: 'settled', firstMs: HOUR_MS }, proposed: { level: 'happened', firstMs: 6 * HOUR_MS } },
    },
  ]);
});

type News = [level: AlertStory['news'][number]['level'], atHour: number];

/** A jump of February with these pieces of news, and what is said otherwise. */
function story(tenantId: string | null, ...parts: (News | Partial<AlertStory>)[]): AlertStory {
  const news = parts.filter((part): part is News => Array.isArray(part));
  const other = parts.find((part): part is Partial<AlertStory> => !Array.isArray(part));
  return {
    ...{ rule: 'jump', tenantId, period: '2026-02', open: true, notifications: 1 },
    news: news.map(([level, atHour]) => ({ level, atMs: atHour * HOUR_MS })),
    ...other,
  };
}

function counts(today: [number, number], proposed: [number, number]) {
  const side = ([alerts, notifications]: [number, number]) => ({ alerts, notifications });
  return { today: side(today), proposed: side(proposed) };
}
