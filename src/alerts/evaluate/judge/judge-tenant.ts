import { addPeriods, periodAt, periodEndMs } from '../../../core/period.ts';
import { ageMs } from '../../../core/stored-time.ts';
import { figuresReader } from '../../../ledger/store/key-figures.ts';
import { periodKeyOf, workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { firstWeeks } from '../../history/first-weeks.ts';
import { UseReader } from '../../history/use-before.ts';
import { judgeDrop } from '../../rules/drop.ts';
import { judgeJump } from '../../rules/jump.ts';
import {
  buildThreshold,
  type CreditHistory,
  floorCredits,
  jumpThreshold,
  scale,
  type Threshold,
  wholeMonth,
} from '../../rules/measures/threshold.ts';
import { judgeNewSpend, newcomerProjection } from '../../rules/new-spend.ts';
import { type Observation, observation } from '../../rules/observation.ts';
import { byRateAlone, forecast } from '../../rules/pace/forecast.ts';
import { judgePace, type Pace } from '../../rules/pace/pace.ts';
import { AWAITED_MS, type Former } from '../../rules/rename.ts';
import { clear, type Judgement, type Level, NO_USAGE, UNDECIDED, type UsageFigures } from '../../rules/rule.ts';
import { judgeStopped } from '../../rules/stopped.ts';
import { judgeTrend, trendLimit } from '../../rules/trend.ts';
import type { TenantFacts } from '../candidates.ts';
import { comparedFigures } from './compared.ts';
import type { JudgeSources } from './judge-sources.ts';
import { Renames } from './renames.ts';

const DAY_MS = 86_400_000;

/** The rules about what one tenant uses from period to period. `firing` is the level of the alert that fires already. */
export interface TenantJudge {
  /** `isNew`: no alert of it is open, so that only what holds matters. */
  jump(tenant: TenantFacts, firing: Level | null, isNew?: boolean): Observation;
  /** `waits`: an alert of it is open and has told nobody. */
  drop(tenant: TenantFacts, firing: Level | null, waits?: boolean): Observation;
  /** `known`: whose new id the open alert says that it is. To be asked after all that have stopped. */
  newSpend(tenant: TenantFacts, known?: Former | null): Observation;
  trend(tenant: TenantFacts): Observation;
}

/** What rests on a few weeks is likely, however much it is. */
function asWarning(judgement: Judgement): Judgement {
  if (judgement.verdict !== 'holds') return judgement;
  return { verdict: 'holds', finding: { ...judgement.finding, level: 'likely', severity: 'warning' } };
}

export function createTenantJudge({
  connection,
  settings,
  factsOf,
  tenantId,
  curves,
  nowMs,
}: JudgeSources): TenantJudge {
  const figuresOf = figuresReader(connection);
  // A run that is under way has no time yet: of what it sees first, nobody knows since when it was used.
  const firstSeenOf = connection
    .prepare(
      `SELECT r.run_key FROM tenant_usage u JOIN runs r ON r.run_key = u.first_run_key
       JOIN workspaces w ON w.workspace_key = r.workspace_key
       WHERE u.period_key = ? AND u.tenant_key = ? AND w.first_run_key <> r.run_key`,
    )
    .pluck();
  const lastChangeOf = connection
    .prepare(
      `SELECT u.changed_run_key FROM tenant_usage u
       WHERE u.period_key BETWEEN ? AND ? AND u.tenant_key = ? AND u.credits_used > 0 ORDER BY u.period_key DESC LIMIT 1`,
    )
    .pluck();
  const hadBefore = connection
    .prepare(
      `SELECT 1 FROM tenant_usage u JOIN periods p USING (period_key)
       LEFT JOIN closed_usage c ON c.period_key = u.period_key AND c.tenant_key = u.tenant_key
       WHERE u.period_key = ? AND u.tenant_key = ?
         AND (u.withdrawn = 1 OR (p.closed_seq IS NOT NULL AND c.credits_used > 0))`,
    )
    .pluck();

  const useReader = new UseReader(curves, curves.sources);
  const renames = new Renames({ connection, curves, nowMs });
  const ownOf = (tenant: TenantFacts) => settings.of(tenantId(tenant.tenantKey));
  /** Whether the tenant had a period before the one that lies so many before: a first one is likely partial. */
  const isPastFirst = ({ periodKey, tenantKey }: TenantFacts, before: number): boolean => {
    const first = curves.firstPeriodKey(tenantKey);
    return first !== null && first < periodKey - before;
  };
  const historyOf =
    (tenant: TenantFacts): CreditHistory =>
    (before) =>
      before === 1
        ? (tenant.previous?.credits ?? null)
        : (figuresOf(tenant.periodKey - before, tenant.tenantKey)?.credits ?? null);
  const subject = (rule: Observation['rule'], { periodKey, tenantKey, current, previous }: TenantFacts) => {
    const { phase } = factsOf(periodKey);
    return { rule, periodKey, tenantKey, phase, current: current ?? NO_USAGE, previous };
  };

  /**
   * The threshold after a tenant's first period, which lies so many before, as if that had been used from its beginning; null
   * when nobody saw when it began.
   */
  const afterFirst = (tenant: TenantFacts, before: number): Threshold | null => {
    const firstKey = tenant.periodKey - before;
    const { period, phase } = factsOf(firstKey);
    const credits = historyOf(tenant)(before);
    const firstRunKey = firstSeenOf.get(firstKey, tenant.tenantKey) as number | undefined;
    const firstSeenMs = firstRunKey === undefined ? null : curves.endOf(firstRunKey);
    if (firstSeenMs === null || credits === null) return null;
    const whole = wholeMonth(credits, periodEndMs(period) - firstSeenMs, phase.lengthMs);
    return buildThreshold(addPeriods(period, 1), (months) => (months === 1 ? whole : null), {
      ...ownOf(tenant),
      baseline: 'previous',
    });
  };

  /** The same for whom the first run of all had seen: by the first weeks of readings, with how that came about. */
  const afterFirstWeeks = ({
    periodKey,
    tenantKey,
    ...tenant
  }: TenantFacts): { built: Threshold; detail: string; rises: boolean } | null => {
    const found = firstWeeks(curves, { periodKey, tenantKey, nowMs });
    if (found === null) return null;
    const own = { ...ownOf({ periodKey, tenantKey, ...tenant }), baseline: 'previous' as const };
    const built = buildThreshold(factsOf(periodKey).period, (months) => (months === 1 ? found.whole : null), own);
    const detail = `judged by the first ${found.days} days that were read, of ${found.daily} credits each`;
    return built === null ? null : { built, detail, rises: found.latest >= built.credits };
  };

  const compared = ({ periodKey, tenantKey, previous }: TenantFacts, built: Threshold | null): UsageFigures | null =>
    comparedFigures(periodKey, built, (key) => {
      const found = key === periodKey - 1 ? previous : figuresOf(key, tenantKey);
      return found == null ? null : { credits: found.credits, requests: found.requests };
    });

  /** What a newcomer's open month comes to. */
  const newcomers = ({ periodKey, tenantKey, current }: TenantFacts): bigint | null => {
    const { phase } = factsOf(periodKey);
    const firstRunKey = firstSeenOf.get(periodKey, tenantKey) as number | undefined;
    const sinceMs = phase.over || firstRunKey === undefined ? null : curves.endBefore(firstRunKey);
    const usedForMs = Math.min(ageMs(sinceMs, nowMs) ?? 0, phase.elapsedMs);
    return newcomerProjection((current ?? NO_USAGE).credits, usedForMs, phase.lengthMs - phase.elapsedMs);
  };

  /** The month before jumped itself, and what is used now is no drop against the months before that. */
  const returns = (tenant: TenantFacts): boolean => {
    const own = ownOf(tenant);
    const history = historyOf(tenant);
    const { period } = factsOf(tenant.periodKey - 1);
    const before = isPastFirst(tenant, 2)
      ? buildThreshold(period, (months) => history(months + 1), own)
      : afterFirst(tenant, 2);
    if (before === null || (tenant.previous?.credits ?? 0n) < before.credits) return false;
    return jumpThreshold(tenant.current?.credits ?? 0n, own) > before.baseline;
  };

  return {
    jump(tenant, firing, isNew = false) {
      const facts = factsOf(tenant.periodKey);
      const own = ownOf(tenant);
      const current = (tenant.current ?? NO_USAGE).credits;
      let pace: Pace | null = null;
      const paceAgainst = (limit: bigint) => () => {
        const curve = curves.of(tenant.periodKey, tenant.tenantKey);
        pace = judgePace({ current, limit, phase: facts.phase, curve, isNew });
        return pace;
      };
      const judge = (built: Threshold | null, withPace: boolean): Judgement =>
        judgeJump({
          ...{ current, phase: facts.phase, firing, paceMinFraction: own.paceMinFraction },
          previous: { figures: tenant.previous, usable: facts.previousComplete },
          threshold: built === null ? null : { credits: built.credits, baseline: built.baseline },
          pace: withPace && built !== null ? paceAgainst(built.credits) : null,
        });
      let built = buildThreshold(facts.period, historyOf(tenant), own);
      let judgement = judge(built, true);
      // Looking for earlier periods is what costs, and most of whom the rule does not hold for need no look.
      let detail: string | null = null;
      if (judgement.verdict === 'holds' && !isPastFirst(tenant, 1)) {
        built = afterFirst(tenant, 1);
        const early = built === null ? afterFirstWeeks(tenant) : null;
        if (early !== null) ({ built, detail } = early);
        judgement = early === null || early.rises ? judge(built, false) : UNDECIDED;
        if (early !== null) judgement = facts.phase.over ? UNDECIDED : asWarning(judgement);
      }
      const isForetold = !facts.phase.over && (judgement.verdict === 'holds' || firing !== null);
      const curve = isForetold ? curves.of(tenant.periodKey, tenant.tenantKey) : null;
      return observation({
        ...subject('jump', tenant),
        previous: compared(tenant, built),
        judgement,
        built,
        detail,
        forecast: curve === null ? null : forecast({ current, curve }, pace),
        threshold: built?.credits ?? null,
      });
    },
    drop(tenant, firing, waits = false) {
      const facts = factsOf(tenant.periodKey);
      const own = ownOf(tenant);
      const built = buildThreshold(facts.period, historyOf(tenant), own);
      const settled = judgeDrop({
        current: (tenant.current ?? NO_USAGE).credits,
        previous: {
          figures: tenant.previous,
          usable: !tenant.withdrawn && facts.previousComplete && isPastFirst(tenant, 1),
        },
        baseline: built?.baseline ?? null,
        phase: facts.phase,
        returns: facts.phase.settled && returns(tenant),
        thresholds: own,
      });
      const isOld = facts.phase.over && firing === null && !waits;
      const byFigures = settled.verdict === 'holds' || firing === 'settled' || isOld;
      const [said, detail] = byFigures ? [settled, null] : stopped(tenant, firing !== null, floorCredits(own));
      // What is told as another id is not told as a fall again, month by month.
      const goesOn = settled.verdict === 'holds' && renames.isTold(tenant.periodKey, tenant.tenantKey);
      const judgement = goesOn ? clear(true) : said;
      const threshold = settled.verdict === 'holds' ? settled.finding.threshold : null;
      const previous = byFigures ? compared(tenant, built) : tenant.previous;
      return observation({ ...subject('drop', tenant), previous, judgement, built, threshold, detail });
    },
    newSpend(tenant, known = null) {
      const facts = factsOf(tenant.periodKey);
      const floor = floorCredits(ownOf(tenant));
      const judge = (hadCredits: boolean) =>
        judgeNewSpend({
          current: (tenant.current ?? NO_USAGE).credits,
          previous: { figures: tenant.previous, usable: facts.previousComplete && !facts.previousIsFirst },
          hadCredits,
          floor,
          likely: () => newcomers(tenant),
        });
      const hopeful = judge(false);
      const had = hopeful.verdict === 'holds' && hadBefore.get(tenant.periodKey - 1, tenant.tenantKey) !== undefined;
      const judgement = had ? judge(true) : hopeful;
      const found = known !== null && isGone(tenant.periodKey, known) ? known : renames.formerOf(tenant.tenantKey);
      const former = judgement.verdict === 'holds' ? found : known;
      return observation({
        ...subject('new_spend', tenant),
        judgement: former === null ? judgement : asWarning(judgement),
        threshold: floor,
        former,
        forecast: judgement.verdict === 'holds' ? byRateAlone(newcomers(tenant)) : null,
      });
    },
    trend(tenant) {
      const facts = factsOf(tenant.periodKey);
      const own = ownOf(tenant);
      const history = historyOf(tenant);
      const month = (before: number): bigint => {
        const credits = before === 0 ? (tenant.current?.credits ?? 0n) : (history(before) ?? 0n);
        return scale(credits, facts.period, addPeriods(facts.period, -before), own.perDay);
      };
      const months = [month(0), month(1), month(2), month(3)] as const;
      const floor = floorCredits(own);
      const jumped = [0, 1, 2].some((ago) => {
        const built = buildThreshold(addPeriods(facts.period, -ago), (before) => history(before + ago), own);
        const credits = ago === 0 ? (tenant.current?.credits ?? 0n) : (history(ago) ?? 0n);
        return built !== null && credits >= built.credits && credits > built.baseline;
      });
      const usable = !tenant.withdrawn && facts.previousComplete && isPastFirst(tenant, 3);
      const judgement = judgeTrend({ months, usable, jumped, phase: facts.phase, floor });
      const start = history(3);
      const compared = start === null ? null : { credits: start, requests: 0n };
      return observation({
        ...{ ...subject('trend', tenant), judgement, previous: compared },
        threshold: months[3] > 0n ? trendLimit(months[3], floor) : null,
      });
    },
  };

  /** How long a tenant has used nothing, as it is known in a period; null for one that had used nothing then either. */
  function silentMsOf(periodKey: number, tenantKey: number): number | null {
    // Whoever stopped in a month that is over may go on in a later one.
    const current = periodKeyOf(workspaceKeyOf(periodKey), periodAt(nowMs));
    const changedBy = lastChangeOf.get(periodKey - 1, current, tenantKey) as number | undefined;
    // A run that is under way has no time yet: it has changed the figures just now.
    return changedBy === undefined ? null : (ageMs(curves.endOf(changedBy), nowMs) ?? 0);
  }

  /** A tenant that used credits on most days, and uses none any more; with how long it has been silent. */
  function stopped({ periodKey, tenantKey }: TenantFacts, firing: boolean, floor: bigint): [Judgement, string | null] {
    const silentMs = silentMsOf(periodKey, tenantKey);
    if (silentMs === null) return [clear(true), null];
    const lastMs = nowMs - silentMs;
    const before = () => useReader.before(periodKey, tenantKey, lastMs);
    const judgement = judgeStopped({ silentMs, firing, before, floor });
    const detail = `for ${Math.round(silentMs / DAY_MS)} days, longer than it paused in the four weeks before`;
    const use = judgement.verdict === 'holds' && !firing ? before() : null;
    const heir = use === null ? null : renames.look(periodKey, tenantKey, { lastMs, use });
    return [heir?.isTold === false ? awaiting(judgement) : judgement, detail];
  }

  /** Whose new id another one is has used nothing since. */
  function isGone(periodKey: number, { tenantKey }: Former): boolean {
    const silentMs = silentMsOf(periodKey, tenantKey);
    return (
      silentMs === null || judgeStopped({ silentMs, firing: true, before: () => null, floor: 0n }).verdict === 'holds'
    );
  }
}

/** Who waits for the newcomer that goes on for it. */
function awaiting(judgement: Judgement): Judgement {
  if (judgement.verdict !== 'holds') return judgement;
  return { verdict: 'holds', finding: { ...judgement.finding, confirmAfterMs: AWAITED_MS } };
}
