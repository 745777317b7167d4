import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitCreditChange } from '../../../src/alerts/figures/change-split.ts';
import type { PeriodPhase } from '../../../src/alerts/figures/period-phase.ts';
import { findJumpThreshold, jumpThreshold } from '../../../src/alerts/figures/threshold.ts';
import type { UsageFigures } from '../../../src/alerts/figures/usage-figures.ts';
import type { UsageForecast } from '../../../src/alerts/forecast/forecast.ts';
import { PACE_CONFIRMATION_MS } from '../../../src/alerts/forecast/pace.ts';
import { type BudgetInput, budgetLimit, judgeBudget } from '../../../src/alerts/rules/budget/detect.ts';
import { tenantSettings } from '../../../src/alerts/rules/context/tenant-settings.ts';
import { dropLimit, judgeDrop } from '../../../src/alerts/rules/drop/detect.ts';
import { judgeStopped, type UseBefore } from '../../../src/alerts/rules/drop/stopped.ts';
import { INCONCLUSIVE, type Judgement, UNDECIDED } from '../../../src/alerts/rules/judgement.ts';
import { judgeNewSpend, type NewSpendInput } from '../../../src/alerts/rules/new-spend/detect.ts';
import { judgeRegression, type RegressionInput, restoresCredits } from '../../../src/alerts/rules/regression/detect.ts';
import { judgeRestatement } from '../../../src/alerts/rules/restatement/detect.ts';
import { judgeFailedRun } from '../../../src/alerts/rules/sync-failed/detect.ts';
import { judgeWithdrawn } from '../../../src/alerts/rules/withdrawn/detect.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/schema/workspace-settings.ts';
import { matchesPattern } from '../../../src/core/text/patterns.ts';

const credits = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const positive = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });
const thresholds = { ratio: 1.5, minCredits: 1000 };
const settled: PeriodPhase = { elapsedMs: 1, lengthMs: 1, over: true, settled: true };
const whole = (figure: bigint | null) => ({
  figures: figure === null ? null : { credits: figure, requests: 1n },
  usable: true,
});
const does = (judgement: Judgement | null) => judgement?.verdict === 'holds';

describe('the threshold', () => {
  const own = { ...DEFAULT_ALERT_RULES, minCredits: 0 };

  it('takes the same month of last year, and the previous month for a younger tenant', () => {
    const seasonal = { ...own, baseline: 'same_month_last_year' as const };
    expect(findJumpThreshold('2026-03', (before) => (before === 12 ? 50n : 10n), seasonal)).toMatchObject({
      baseline: 50n,
      period: '2025-03',
    });
    expect(findJumpThreshold('2026-03', (before) => (before === 12 ? null : 10n), seasonal)?.period).toBe('2026-02');
  });

  it('does not exist without anything positive to compare with', () => {
    for (const figure of [null, 0n]) expect(findJumpThreshold('2026-03', () => figure, own)).toBeNull();
  });
});

describe('settings', () => {
  const rules = (minCredits: number) => ({ ...DEFAULT_ALERT_RULES, minCredits });

  it('are those of the longest pattern that fits the whole id', () => {
    const settings = tenantSettings({
      ...DEFAULT_ALERT_RULES,
      tenants: [
        { match: '*', rules: rules(1), own: {} },
        { match: 'acme-*', rules: rules(2), own: {} },
        { match: 'acme-eu-*', rules: rules(3), own: {} },
      ],
    });
    const floor = (id: string) => settings.of(id).minCredits;
    expect([floor('acme-eu-1'), floor('acme-us'), floor('not-acme-eu-1'), settings.workspace.minCredits]).toEqual([
      ...[3, 2, 1],
      1000,
    ]);
    expect(settings.leastFloor).toBe(1n);
  });

  it('match like a text with gaps, at both ends and byte for byte', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 4 }), { minLength: 1, maxLength: 4 }),
        fc.string(),
        (parts, filling) => {
          const plain = parts.map((part) => part.replaceAll('*', ''));
          expect(matchesPattern(plain.join('*'), plain.join(filling))).toBe(true);
        },
      ),
    );
    expect(matchesPattern('a*a', 'a')).toBe(false);
    expect(matchesPattern('a.c', 'abc')).toBe(false);
    expect(matchesPattern('ab', 'abc')).toBe(false);
  });
});

describe('a drop', () => {
  const drop = (current: bigint, previous: bigint, changes = {}) =>
    judgeDrop({
      current,
      previous: whole(previous),
      baseline: previous,
      phase: settled,
      returns: false,
      thresholds,
      ...changes,
    });

  it('is a jump in reverse', () => {
    fc.assert(
      fc.property(credits, positive, (current, previous) => {
        expect(does(drop(current, previous))).toBe(previous >= jumpThreshold(current, thresholds));
        const limit = dropLimit(previous, thresholds);
        if (limit >= 0n) expect(does(drop(limit, previous))).toBe(true);
        expect(does(drop(limit + 1n, previous))).toBe(false);
      }),
    );
  });

  it('waits for the period to settle, and needs a whole period before', () => {
    expect(does(drop(0n, 5000n, { phase: { ...settled, settled: false } }))).toBe(false);
    expect(does(drop(0n, 5000n, { previous: { ...whole(5000n), usable: false } }))).toBe(false);
  });

  it('is none when the previous month had jumped and this one returns', () => {
    expect(does(drop(5000n, 20_000n))).toBe(true);
    expect(does(drop(5000n, 20_000n, { returns: true }))).toBe(false);
  });

  it('is likely after a tenant that used something on most days was silent for longer than any pause', () => {
    const DAY_MS = 86_400_000;
    const stopped = (silentDays: number, use: Partial<UseBefore> = {}, firing = false) => {
      const before = () => ({ days: 20, credits: 1_000n, longestPauseMs: 0, spanMs: 28 * DAY_MS, ...use });
      return judgeStopped({ silentMs: silentDays * DAY_MS, firing, before, floor: 1000n });
    };
    expect([3, 2.9, 9].map((days) => does(stopped(days)))).toEqual([true, false, true]);
    expect(does(stopped(3, { credits: 999n }))).toBe(false);
    expect([10, 9].map((days) => does(stopped(3, { days })))).toEqual([true, false]);
    for (const [longestPause, missedAfter] of [
      [0.5, 4],
      [1, 4],
      [2, 5.5],
      [2.5, 7],
      [3.02, 7],
    ] as const) {
      const paused = { longestPauseMs: longestPause * DAY_MS };
      expect([missedAfter, missedAfter - 0.1].map((days) => does(stopped(days, paused)))).toEqual([true, false]);
    }
    expect(does(stopped(30, { longestPauseMs: 4 * DAY_MS }))).toBe(false);
    expect(stopped(0.2, {}, true)).toEqual({ verdict: 'clear', atOnce: true });
    expect(does(stopped(9, { days: 0 }, true))).toBe(true);
  });
});

describe('new spend', () => {
  const spend = (current: bigint, previous: bigint | null, changes: Partial<NewSpendInput> = {}) =>
    judgeNewSpend({
      current,
      previous: whole(previous),
      hadCredits: false,
      floor: 1000n,
      likely: () => null,
      ...changes,
    });

  it('begins at the floor after a period without any, and never divides', () => {
    for (const previous of [null, 0n]) {
      expect(does(spend(1000n, previous))).toBe(true);
      expect(does(spend(999n, previous))).toBe(false);
    }
    expect(does(spend(9999n, 1n))).toBe(false);
    expect(does(spend(0n, null, { floor: 0n }))).toBe(false);
  });

  it('is undecided while the previous period may be incomplete, or had credits once', () => {
    expect(does(spend(9999n, null, { previous: { figures: null, usable: false } }))).toBe(false);
    expect(does(spend(9999n, 0n, { hadCredits: true }))).toBe(false);
  });
});

describe('a budget', () => {
  const open: PeriodPhase = { elapsedMs: 1, lengthMs: 2, over: false, settled: false };
  const budget = (used: bigint, changes: Partial<BudgetInput> = {}) =>
    judgeBudget({ used, budget: 1000n, limit: 1000n, at: [50, 80, 100], phase: open, monthForecast: null, ...changes });
  const monthForecast = (sure: bigint, likely: bigint): { monthForecast: UsageForecast } => ({
    monthForecast: { low: sure, likely, high: likely, sure },
  });
  const ahead = monthForecast(1050n, 2000n);
  const magnitude = (judgement: Judgement) => (judgement.verdict === 'holds' ? judgement.finding.magnitude : null);

  it('has a fact for each step, also beyond it, and one for the forecast', () => {
    expect([499n, 500n, 800n, 1000n].map((current) => magnitude(budget(current)))).toEqual([null, 2n, 6n, 14n]);
    expect([1499n, 1500n, 3000n, 99_999n, 100_000n].map((current) => magnitude(budget(current)))).toEqual([
      ...[14n, 30n, 126n, 2046n, 4094n],
    ]);
    expect(magnitude(budget(2000n, { at: [200] }))).toBe(2n);
    expect(magnitude(budget(100n, ahead))).toBe(1n);
    expect(magnitude(budget(500n, { ...ahead, phase: { ...open, over: true } }))).toBe(2n);
    expect(budgetLimit(1001n)).toBe(1052n);
  });

  it('waits a day with a forecast, and withdraws it only well below', () => {
    expect(budget(100n, ahead)).toMatchObject({ finding: { confirmAfterMs: PACE_CONFIRMATION_MS } });
    expect(budget(500n, ahead)).toMatchObject({ finding: { confirmAfterMs: null } });
    expect(budget(100n, monthForecast(1049n, 2000n))).toEqual(INCONCLUSIVE);
    for (const between of [monthForecast(100n, 960n), monthForecast(100n, 750n), {}]) {
      expect(budget(100n, between)).toEqual(UNDECIDED);
    }
    expect(budget(100n, monthForecast(100n, 749n))).toEqual({ verdict: 'clear', atOnce: false });
  });

  it('is critical once it is used up, and ends when a settled month kept it', () => {
    expect(budget(999n)).toMatchObject({ finding: { severity: 'warning', level: 'likely' } });
    expect(budget(1000n)).toMatchObject({ finding: { severity: 'critical', level: 'happened' } });
    expect(budget(999n, { phase: settled }).verdict).toBe('clear');
    expect(does(budget(1000n, { phase: settled }))).toBe(true);
  });
});

describe('a later change', () => {
  it('is a regression from a hundredth of the peak on, until a run brings the credits back', () => {
    const judge = (changes: Partial<RegressionInput>) =>
      judgeRegression({ fall: null, lost: 0n, restored: false, usual: null, floor: 5n, ...changes });
    const fall = (missing: bigint, changes: Partial<RegressionInput> = {}) =>
      judge({ fall: { missing, before: 1000n }, ...changes });
    expect(does(fall(9n))).toBe(false);
    expect(does(fall(10n))).toBe(true);
    expect(does(fall(10n, { floor: 11n }))).toBe(false);
    expect(judge({ lost: 100n })).toMatchObject({ finding: { magnitude: 100n } });
    expect(judge({ lost: 100n, restored: true })).toEqual({ verdict: 'clear', atOnce: true });
    expect(restoresCredits(90n, { fell: 100n, usual: 0n })).toBe(true);
    expect(restoresCredits(99n, { fell: 100n, usual: 10n })).toBe(false);
    expect(restoresCredits(200n, { fell: 100n, usual: 101n })).toBe(false);
    // Of who falls night after night only what is half as much again is news.
    expect([149n, 150n].map((missing) => does(fall(missing, { usual: 100n })))).toEqual([false, true]);
    // A second one adds to what is told.
    expect(fall(100n, { lost: 50n })).toMatchObject({ finding: { magnitude: 150n } });
  });

  it('is a restatement while a closed period differs, and only then', () => {
    const figures = (value: bigint, requests = 1n) => ({ credits: value, requests });
    const restated = (stated: UsageFigures | null, current: UsageFigures, closed = true) =>
      judgeRestatement({ stated, closed, current, floor: 3n });
    expect(restated(figures(5n), figures(2n))).toMatchObject({ finding: { magnitude: 3n, level: 'settled' } });
    expect(does(restated(figures(5n), figures(5n)))).toBe(false);
    expect(does(restated(null, figures(5n)))).toBe(false);
    expect(does(restated(figures(5n), figures(3n)))).toBe(false);
    expect(does(restated(figures(900n), figures(903n)))).toBe(true);
  });

  it('is one of a month that had settled from a hundredth and from the floor on', () => {
    const restated = (stated: bigint, current: bigint) =>
      judgeRestatement({
        ...{ stated: { credits: stated, requests: 1n }, current: { credits: current, requests: 9n } },
        ...{ closed: false, floor: 1000n },
      });
    expect(restated(100_000n, 101_000n)).toMatchObject({ finding: { magnitude: 1000n, level: 'happened' } });
    expect(does(restated(100_000n, 100_999n))).toBe(false);
    expect(does(restated(1_000_000n, 1_009_999n))).toBe(false);
    expect(does(restated(1_000_000n, 990_000n))).toBe(true);
    expect(restated(100_000n, 100_100n).verdict).toBe('clear');
  });

  it('is a withdrawal when there was something to withdraw', () => {
    expect([judgeWithdrawn(true, 1n), judgeWithdrawn(true, 0n), judgeWithdrawn(false, 1n)].map(does)).toEqual([
      ...[true, false],
      false,
    ]);
  });
});

describe('a failed run', () => {
  it('is sent at once if it cannot recover by itself, with its cause', () => {
    const judge = (code: string, retryable: boolean, clockSkewMs: number | null = null) => {
      const { cause, judgement } = judgeFailedRun({ code, retryable, clockSkewMs, message: 'HTTP 500' });
      return [cause, judgement.verdict === 'holds' && judgement.finding.confirmAfterMs === null];
    };
    expect(judge('unauthorized', false)).toEqual(['credentials', true]);
    expect(judge('unauthorized', false, -30_001)).toEqual(['clock', true]);
    expect(judge('forbidden', false, 30_000)).toEqual(['credentials', true]);
    expect(judge('network', true, 600_000)).toEqual(['service', false]);
    expect(judge('suspicious_empty', false)).toEqual(['unproven', true]);
  });
});

describe('volume against intensity', () => {
  it('always adds up to the change', () => {
    fc.assert(
      fc.property(credits, positive, credits, credits, (before, requestsBefore, now, requestsNow) => {
        const split = splitCreditChange(
          { credits: before, requests: requestsBefore },
          { credits: now, requests: requestsNow },
        );
        expect((split?.volume ?? 0n) + (split?.intensity ?? 0n)).toBe(now - before);
      }),
    );
  });

  it('is all volume at the old rate, all intensity with the old requests, and nothing without a rate', () => {
    const at = (creditsUsed: bigint, requests: bigint) => ({ credits: creditsUsed, requests });
    expect(splitCreditChange(at(100n, 10n), at(300n, 30n))).toEqual({ volume: 200n, intensity: 0n });
    expect(splitCreditChange(at(100n, 10n), at(300n, 10n))).toEqual({ volume: 0n, intensity: 200n });
    expect(splitCreditChange(at(100n, 0n), at(300n, 10n))).toBeNull();
  });
});
