import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addPeriods, periodAt, periodEndMs } from '../../src/core/period.ts';
import { planWindow, type WindowInput } from '../../src/sync/plan.ts';

const MID_MARCH = Date.UTC(2026, 2, 15);
const PLAN: WindowInput = { nowMs: MID_MARCH, first: false, kind: 'scheduled', lookbackPeriods: 2, settleHours: 48 };

test.each<{ when: string; change: Partial<WindowInput>; from: string | null; to: string }>([
  { when: 'in the middle of a month', change: {}, from: '2026-01', to: '2026-03' },
  { when: 'without lookback', change: { lookbackPeriods: 0 }, from: '2026-03', to: '2026-03' },
  { when: 'while the month before settles', change: { nowMs: Date.UTC(2026, 2, 1) }, from: '2025-12', to: '2026-03' },
  {
    when: 'in the last millisecond of settling and a day, without lookback',
    change: { nowMs: Date.UTC(2026, 2, 4) - 1, lookbackPeriods: 0 },
    from: '2026-02',
    to: '2026-03',
  },
  {
    when: 'a day after the month before has settled, without lookback',
    change: { nowMs: Date.UTC(2026, 2, 4), lookbackPeriods: 0 },
    from: '2026-03',
    to: '2026-03',
  },
  { when: 'on the first run', change: { first: true }, from: null, to: '2026-03' },
  { when: 'on a reconciliation', change: { kind: 'reconcile' }, from: null, to: '2026-03' },
  { when: 'by hand', change: { kind: 'manual' }, from: '2026-01', to: '2026-03' },
  { when: 'with from', change: { from: '2024-05' }, from: '2024-05', to: '2026-03' },
  { when: 'with from and to', change: { from: '2024-05', to: '2024-06' }, from: '2024-05', to: '2024-06' },
  { when: 'with from on the first run', change: { first: true, from: '2024-05' }, from: '2024-05', to: '2026-03' },
  { when: 'with to inside the lookback', change: { to: '2026-02' }, from: '2026-01', to: '2026-02' },
  { when: 'with to before the lookback', change: { to: '2025-06' }, from: '2025-06', to: '2025-06' },
  { when: 'with to on the first run', change: { first: true, to: '2025-06' }, from: null, to: '2025-06' },
])('$when the window is $from to $to', ({ change, from, to }) => {
  expect(planWindow({ ...PLAN, ...change })).toEqual({ from, to });
});

test('a scheduled window holds the open period, all that settle and the lookback, and nothing beyond', () => {
  const instants = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2099, 11, 31) });
  fc.assert(
    fc.property(instants, fc.integer({ min: 0, max: 120 }), (nowMs, lookbackPeriods) => {
      const { from, to } = planWindow({ ...PLAN, nowMs, lookbackPeriods });
      const current = periodAt(nowMs);
      const before = addPeriods(current, -1);
      const settles = nowMs < periodEndMs(before) + (48 + 24) * 3_600_000;
      expect(to).toBe(current);
      expect(from).toBe(addPeriods(settles ? before : current, -lookbackPeriods));
    }),
  );
});
