import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../../src/alerts/book/patterns.ts';
import { tenantSettings } from '../../../src/alerts/evaluate/tenant-settings.ts';
import { dropLimit, judgeDrop } from '../../../src/alerts/rules/drop.ts';
import { judgeIncident } from '../../../src/alerts/rules/incident.ts';
import { judgeNewSpend } from '../../../src/alerts/rules/new-spend.ts';
import { judgeRegression } from '../../../src/alerts/rules/regression.ts';
import { judgeRestatement } from '../../../src/alerts/rules/restatement.ts';
import type { Judgement, PeriodPhase } from '../../../src/alerts/rules/rule.ts';
import { judgeFailedRun } from '../../../src/alerts/rules/self.ts';
import { splitChange } from '../../../src/alerts/rules/split.ts';
import { buildThreshold, jumpThreshold } from '../../../src/alerts/rules/threshold.ts';
import { judgeWithdrawn } from '../../../src/alerts/rules/withdrawn.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/resolve.ts';

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

  it('compares days when it is told to: 31 days after 28 are no growth', () => {
    const history = () => 28_000n;
    expect(buildThreshold('2026-03', history, { ...own, ratio: 1.1 })?.credits).toBe(30_800n);
    expect(buildThreshold('2026-03', history, { ...own, ratio: 1.1, perDay: true })).toMatchObject({
      baseline: 31_000n,
      credits: 34_100n,
    });
    expect(buildThreshold('2026-02', () => 31_000n, { ...own, perDay: true })?.baseline).toBe(28_000n);
  });

  it('takes the median of the months that there are', () => {
    const figures: Record<number, bigint> = { 1: 900n, 2: 100n, 3: 300n, 5: 1n };
    const history = (before: number) => figures[before] ?? null;
    const median = (medianOf: number) => buildThreshold('2026-06', history, { ...own, baseline: { medianOf } });
    expect(median(3)).toMatchObject({ baseline: 300n, periods: ['2026-05', '2026-04', '2026-03'] });
    expect(median(4)?.baseline).toBe(300n);
    expect(median(5)?.baseline).toBe(200n);
  });

  it('takes the same month of last year, and the previous one of a tenant that is younger', () => {
    const seasonal = { ...own, baseline: 'same_month_last_year' as const };
    expect(buildThreshold('2026-03', (before) => (before === 12 ? 50n : 10n), seasonal)).toMatchObject({
      baseline: 50n,
      periods: ['2025-03'],
    });
    expect(buildThreshold('2026-03', (before) => (before === 12 ? null : 10n), seasonal)?.periods).toEqual(['2026-02']);
  });

  it('does not exist without anything positive to compare with', () => {
    for (const figure of [null, 0n]) expect(buildThreshold('2026-03', () => figure, own)).toBeNull();
  });
});

describe('settings', () => {
  const rules = (minCredits: number) => ({ ...DEFAULT_ALERT_RULES, minCredits });

  it('are those of the longest pattern that fits the whole id', () => {
    const settings = tenantSettings({
      ...DEFAULT_ALERT_RULES,
      tenants: [
        { match: '*', rules: rules(1) },
        { match: 'acme-*', rules: rules(2) },
        { match: 'acme-eu-*', rules: rules(3) },
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
    judgeDrop({ current, previous: whole(previous), baseline: previous, phase: settled, thresholds, ...changes });

  it('is a jump seen backwards', () => {
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
});

describe('new spend', () => {
  it('begins at the floor after a period without any, and never divides', () => {
    for (const previous of [null, 0n]) {
      expect(does(judgeNewSpend({ current: 1000n, previous: whole(previous), floor: 1000n }))).toBe(true);
      expect(does(judgeNewSpend({ current: 999n, previous: whole(previous), floor: 1000n }))).toBe(false);
    }
    expect(does(judgeNewSpend({ current: 9999n, previous: whole(1n), floor: 1000n }))).toBe(false);
    expect(does(judgeNewSpend({ current: 0n, previous: whole(null), floor: 0n }))).toBe(false);
  });

  it('says nothing while the period before may just not have been read to its end', () => {
    const previous = { figures: null, usable: false };
    expect(does(judgeNewSpend({ current: 9999n, previous, floor: 1000n }))).toBe(false);
  });
});

describe('what changes afterwards', () => {
  it('is a regression from a hundredth of the peak on, until the peak is reached again', () => {
    expect(does(judgeRegression({ peak: 1000n, current: 991n, firing: false }))).toBe(false);
    expect(does(judgeRegression({ peak: 1000n, current: 990n, firing: false }))).toBe(true);
    expect(does(judgeRegression({ peak: 1000n, current: 999n, firing: true }))).toBe(true);
    expect(judgeRegression({ peak: 1000n, current: 1000n, firing: true }).verdict).toBe('clear');
  });

  it('is a restatement while a closed period differs, and only then', () => {
    const figures = (value: bigint) => ({ credits: value, requests: 1n });
    expect(judgeRestatement({ closed: figures(5n), current: figures(2n) })).toMatchObject({ finding: { measure: 3n } });
    expect(does(judgeRestatement({ closed: figures(5n), current: figures(5n) }))).toBe(false);
    expect(does(judgeRestatement({ closed: null, current: figures(5n) }))).toBe(false);
    expect(does(judgeRestatement({ closed: figures(5n), current: { credits: 5n, requests: 2n } }))).toBe(true);
  });

  it('is a withdrawal when there was something to withdraw', () => {
    expect([judgeWithdrawn(true, 1n), judgeWithdrawn(true, 0n), judgeWithdrawn(false, 1n)].map(does)).toEqual([
      ...[true, false],
      false,
    ]);
  });
});

describe('an incident', () => {
  const stages = (count: number) => Array.from({ length: count }, () => 'certain' as const);

  it('takes at least five tenants and more than three in ten', () => {
    expect(judgeIncident({ stages: stages(4), tenants: 4 })).toBeNull();
    expect(judgeIncident({ stages: stages(5), tenants: 16 })).not.toBeNull();
    expect(judgeIncident({ stages: stages(6), tenants: 20 })).toBeNull();
    expect(judgeIncident({ stages: [...stages(6), 'final'], tenants: 20 })).toMatchObject({
      finding: { stage: 'final' },
    });
  });
});

describe('a failed run', () => {
  it('is told at once when it cannot mend itself, and named by its cause', () => {
    const judge = (code: string, retryable: boolean, clockSkewMs: number | null = null) => {
      const { rule, judgement } = judgeFailedRun({ code, retryable, clockSkewMs });
      return [rule, judgement.verdict === 'holds' && judgement.finding.confirmAfterMs === null];
    };
    expect(judge('unauthorized', false)).toEqual(['auth_failed', true]);
    expect(judge('unauthorized', false, -30_001)).toEqual(['clock_skew', true]);
    expect(judge('forbidden', false, 30_000)).toEqual(['auth_failed', true]);
    expect(judge('network', true, 600_000)).toEqual(['sync_failed', false]);
    expect(judge('suspicious_empty', false)).toEqual(['sync_failed', true]);
  });
});

describe('volume against intensity', () => {
  it('always adds up to the change', () => {
    fc.assert(
      fc.property(credits, positive, credits, credits, (before, requestsBefore, now, requestsNow) => {
        const split = splitChange(
          { credits: before, requests: requestsBefore },
          { credits: now, requests: requestsNow },
        );
        expect((split?.volume ?? 0n) + (split?.intensity ?? 0n)).toBe(now - before);
      }),
    );
  });

  it('is all volume at the old rate, all intensity with the old requests, and nothing without a rate', () => {
    const at = (creditsUsed: bigint, requests: bigint) => ({ credits: creditsUsed, requests });
    expect(splitChange(at(100n, 10n), at(300n, 30n))).toEqual({ volume: 200n, intensity: 0n });
    expect(splitChange(at(100n, 10n), at(300n, 10n))).toEqual({ volume: 0n, intensity: 200n });
    expect(splitChange(at(100n, 0n), at(300n, 10n))).toBeNull();
  });
});
