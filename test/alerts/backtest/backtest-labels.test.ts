import { expect, test } from 'vitest';
import {
  countLabelled,
  type LabelledAlert,
  precisionPercent,
  recallPercent,
} from '../../../src/alerts/backtest/labels.ts';
import type { AlertStory } from '../../../src/alerts/backtest/stories.ts';

test('each side is measured against the labels, by rule, and alerts without one count nowhere', () => {
  const labels = [
    label('a', 'real'),
    label('b', 'false'),
    label('c', 'expected'),
    label('d', 'real'),
    label('e', 'false'),
  ];
  const [jump, ...others] = countLabelled(labels, {
    today: [story('a'), story('b'), story('c'), story('d'), story('unlabelled')],
    proposed: [story('a'), story('c')],
  });
  expect(others).toEqual([]);
  expect(jump).toEqual({
    rule: 'jump',
    labelled: { real: 2, expected: 1, false: 2 },
    told: { today: { real: 2, expected: 1, false: 1 }, proposed: { real: 1, expected: 1, false: 0 } },
    lost: 1,
  });
  const { labelled, told } = jump as NonNullable<typeof jump>;
  expect([precisionPercent(told.today), recallPercent(labelled, told.today)]).toEqual([67, 100]);
  expect([precisionPercent(told.proposed), recallPercent(labelled, told.proposed)]).toEqual([100, 50]);
});

test('nothing is divided where nothing is labelled', () => {
  const none = { real: 0, expected: 3, false: 0 };
  expect([precisionPercent(none), recallPercent(none, none)]).toEqual([null, null]);
  expect(countLabelled([], { today: [story('a')], proposed: [] })).toEqual([]);
});

function label(tenantId: string, said: LabelledAlert['label']): LabelledAlert {
  return { rule: 'jump', tenantId, period: '2026-02', label: said };
}

function story(tenantId: string): AlertStory {
  return { rule: 'jump', tenantId, period: '2026-02', open: false, news: [], notifications: 1 };
}
