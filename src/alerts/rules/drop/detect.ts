import { isoTime } from '../../../core/clock.ts';
import { DAY_MS } from '../../../core/durations.ts';
import { addPeriods, periodAt } from '../../../core/period.ts';
import { ageMs } from '../../../core/stored-time.ts';
import type { MergedRun } from '../../../ledger/journal/runs/apply-run.ts';
import {
  and,
  eq,
  gt,
  isNotNull,
  lte,
  max,
  min,
  prepared,
  preparedSql,
  sql,
} from '../../../ledger/store/schema/drizzle.ts';
import { periodKeyOf, workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { runs } from '../../../ledger/store/schema/run-tables.ts';
import type { PeriodPhase } from '../../figures/period-phase.ts';
import {
  findJumpThreshold,
  type JumpSize,
  jumpThreshold,
  roundUpMinCredits,
  type Threshold,
} from '../../figures/threshold.ts';
import { NO_USAGE } from '../../figures/usage-figures.ts';
import { type Conditions, changedEntryRanges, ENTERED_BEFORE, type PeriodLook, SLACK } from '../context/candidates.ts';
import { comparedOf } from '../context/compared.ts';
import { afterFirst } from '../context/first-month.ts';
import { hasPaused, isIntermittentTenant, lowestMonth } from '../context/habits.ts';
import { historyOf, isPastFirst, type RuleContext, type TenantFacts } from '../context/rule-context.ts';
import { clear, holds, type Judgement, type PreviousPeriod, UNDECIDED } from '../judgement.ts';
import { MAX_SUCCESSOR_WAIT_MS } from '../new-spend/rename.ts';
import { renames } from '../new-spend/renames.ts';
import type { PredecessorTenant } from '../observation.ts';
import type { Candidate, Detection, OpenAlert, RuleResult } from '../rule.ts';
import { judgeStopped, SILENT_DAYS } from './stopped.ts';
import { usageReaderOf } from './use-before.ts';

export const dropDetection: Detection = {
  candidates: dropCandidates,
  inPeriod: (context, look) => (isLooking(look) ? goneTenants(context, look) : []),
  inRun: findSilent,
  ofTenant: judgeDropOfTenant,
};

function isLooking({ facts, isLate }: PeriodLook): boolean {
  return facts.phase.settled && !isLate;
}

function dropCandidates({ settings }: RuleContext, look: PeriodLook): Conditions | null {
  if (!isLooking(look)) return null;
  const dropped = settings.plain
    ? 'prev.credits_used - cur.credits_used >= @floor AND prev.credits_used >= @least * cur.credits_used'
    : '1';
  return {
    where: `prev.credits_used > 0 AND (${dropped})`,
    values: {
      least: settings.leastRatio * SLACK,
      floor: settings.leastFloor,
    },
  };
}

/** Reports whether a tenant that seems to have stopped may only have paused. */
function mayBePause(context: RuleContext, tenant: TenantFacts, judgement: Judgement): boolean {
  return isStopped(judgement) && (hasPaused(context, tenant) || isIntermittentTenant(context, tenant));
}

function isStopped(judgement: Judgement): boolean {
  return judgement.verdict === 'holds' && judgement.finding.level === 'likely';
}

const openStop = preparedSql(
  `SELECT 1 FROM alerts WHERE rule = 'drop' AND period_key = ? AND tenant_key = ? AND level = 'likely'
     AND state IN ('pending', 'firing', 'acknowledged')`,
  'pluck',
);

/**
 * Reports whether an alert about the same stop is still open for the previous month. One stop has one alert, however
 * long it lasts.
 */
function stoppedBefore({ connection }: RuleContext, { periodKey, tenantKey }: TenantFacts): boolean {
  return openStop(connection).get(periodKey - 1, tenantKey) !== undefined;
}

function goneTenants(context: RuleContext, { facts, all }: PeriodLook): number[] {
  const source = all
    ? 'tenant_usage prev'
    : `(${ENTERED_BEFORE}) e CROSS JOIN tenant_usage prev ON prev.tenant_key = e.tenant_key`;
  return context.connection
    .prepare(
      `SELECT prev.tenant_key FROM ${source}
       WHERE prev.period_key = @period - 1 AND prev.credits_used >= @floor AND NOT EXISTS (
         SELECT 1 FROM tenant_usage cur WHERE cur.period_key = @period AND cur.tenant_key = prev.tenant_key)`,
    )
    .pluck()
    .all({ ...changedEntryRanges(context, facts.periodKey), floor: context.settings.leastFloor }) as number[];
}

function judgeDropOfTenant(context: RuleContext, tenant: TenantFacts, known: OpenAlert | null): RuleResult {
  const { factsOf, settings, tenantId } = context;
  const { phase, period, previousComplete } = factsOf(tenant.periodKey);
  const own = settings.of(tenantId(tenant.tenantKey));
  const firing = known?.firing ?? null;
  const judge = (threshold: Threshold | null): Judgement =>
    judgeDrop({
      current: (tenant.current ?? NO_USAGE).credits,
      previous: {
        figures: tenant.previous,
        usable: !tenant.withdrawn && previousComplete && isPastFirst(context, tenant, 1),
      },
      baseline: threshold?.baseline ?? null,
      phase,
      returns: phase.settled && returns(context, tenant),
      thresholds: own,
    });
  let built = findJumpThreshold(period, historyOf(context, tenant), own);
  let settled = judge(built);
  if ((settled.verdict === 'holds' || firing === 'settled') && isIntermittentTenant(context, tenant)) {
    const { monthsBefore, credits } = lowestMonth(context, tenant);
    built = findJumpThreshold(period, () => credits, own);
    if (built !== null) built = { ...built, period: addPeriods(period, -monthsBefore) };
    settled = judge(built);
  }
  const isOld = phase.over && known === null;
  const byFigures = settled.verdict === 'holds' || firing === 'settled' || isOld;
  const [result, detail] = byFigures ? [settled, null] : stopped(context, tenant, firing !== null);
  // If a tenant was notified as replaced by a new id, later months are not notified as a drop.
  const goesOn = settled.verdict === 'holds' && renames(context).isNotified(tenant.periodKey, tenant.tenantKey);
  const isKnownStop = known === null && isStopped(result) && stoppedBefore(context, tenant);
  return {
    judgement: goesOn || isKnownStop || mayBePause(context, tenant, result) ? clear(true) : result,
    built,
    detail,
    threshold: settled.verdict === 'holds' ? settled.finding.threshold : null,
    previous: byFigures ? comparedOf(context, tenant, built) : tenant.previous,
  };
}

/** Reports whether the previous month was a jump, and this month only returns to the level before that. */
function returns(context: RuleContext, tenant: TenantFacts): boolean {
  const { factsOf, settings, tenantId } = context;
  const own = settings.of(tenantId(tenant.tenantKey));
  const history = historyOf(context, tenant);
  const { period } = factsOf(tenant.periodKey - 1);
  const before = isPastFirst(context, tenant, 2)
    ? findJumpThreshold(period, (months) => history(months + 1), own)
    : afterFirst(context, tenant, 2);
  if (before === null || (tenant.previous?.credits ?? 0n) < before.credits) return false;
  return jumpThreshold(tenant.current?.credits ?? 0n, own) > before.baseline;
}

/**
 * Judges whether a tenant that used credits on most days has stopped. Also returns, in words, for how long, or why
 * the alert ends.
 */
function stopped(
  context: RuleContext,
  { periodKey, tenantKey }: TenantFacts,
  firing: boolean,
): [Judgement, string | null] {
  const silentMs = silentMsOf(context, periodKey, tenantKey);
  if (silentMs === null) return [clear(true), null];
  const lastMs = context.nowMs - silentMs;
  const before = () => usageReaderOf(context).before(periodKey, tenantKey, lastMs);
  const floor = roundUpMinCredits(context.settings.of(context.tenantId(tenantKey)));
  const judgement = judgeStopped({ silentMs, firing, before, floor });
  if (firing && judgement.verdict === 'clear')
    return [judgement, hasUsed(context, periodKey, tenantKey) ? 'uses credits again' : null];
  const detail = `for ${Math.round(silentMs / DAY_MS)} days`;
  const use = judgement.verdict === 'holds' && !firing ? before() : null;
  const successor = use === null ? null : renames(context).look(periodKey, tenantKey, { lastMs, use });
  return [successor?.isNotified === false ? awaiting(judgement) : judgement, detail];
}

/** Reports whether a predecessor has used nothing since its successor began. */
export function isStillSilent(context: RuleContext, periodKey: number, { tenantKey }: PredecessorTenant): boolean {
  const silentMs = silentMsOf(context, periodKey, tenantKey);
  return (
    silentMs === null || judgeStopped({ silentMs, firing: true, before: () => null, floor: 0n }).verdict === 'holds'
  );
}

const lastChangeOf = preparedSql(
  `SELECT u.changed_run_key FROM tenant_usage u
       WHERE u.period_key BETWEEN ? AND ? AND u.tenant_key = ? AND u.credits_used > 0 ORDER BY u.period_key DESC LIMIT 1`,
  'pluck',
);

/**
 * Returns how long ago the tenant's figures changed last, in milliseconds; null if the tenant has had no credits since
 * the previous month.
 */
function silentMsOf(
  { connection, usageHistory, nowMs }: RuleContext,
  periodKey: number,
  tenantKey: number,
): number | null {
  // A tenant that stopped in a past month may continue in a later one.
  const current = periodKeyOf(workspaceKeyOf(periodKey), periodAt(nowMs));
  const changedBy = lastChangeOf(connection).get(periodKey - 1, current, tenantKey) as number | undefined;
  // A run in progress has no end yet, so its changes are treated as made now.
  return changedBy === undefined ? null : (ageMs(usageHistory.endOf(changedBy), nowMs) ?? 0);
}

const lastDeltaOf = preparedSql(
  `SELECT credits_delta > 0 FROM usage_entries WHERE tenant_key = ? AND period_key BETWEEN ? AND ?
       ORDER BY entry_id DESC LIMIT 1`,
  'pluck',
);

/** Reports whether the tenant's last change added credits. */
function hasUsed({ connection, nowMs }: RuleContext, periodKey: number, tenantKey: number): boolean {
  const current = periodKeyOf(workspaceKeyOf(periodKey), periodAt(nowMs));
  return lastDeltaOf(connection).get(tenantKey, periodKey, current) === 1;
}

/** Delays the alert, because a possible successor may still reach the floor for new tenants. */
function awaiting(judgement: Judgement): Judgement {
  if (judgement.verdict !== 'holds') return judgement;
  return { verdict: 'holds', finding: { ...judgement.finding, confirmAfterMs: MAX_SUCCESSOR_WAIT_MS } };
}

interface DropInput {
  /** Credits; zero when the tenant has no record of the period. */
  current: bigint;
  previous: PreviousPeriod;
  /** The credits to compare with, see `findJumpThreshold`; null if there are none. */
  baseline: bigint | null;
  phase: PeriodPhase;
  /** True if the previous month was a jump, and this month only returns to the level before that. */
  returns: boolean;
  thresholds: JumpSize;
}

/**
 * Judges a drop: the condition holds if the baseline would be a jump from the present usage. Only settled periods are
 * judged, because the usage of an open period is not complete.
 */
export function judgeDrop({ current, previous, baseline, phase, returns, thresholds }: DropInput): Judgement {
  if (!phase.over || !phase.settled || baseline === null || !previous.usable) return clear(true);
  if (returns) return clear(true);
  const limit = jumpThreshold(current, thresholds);
  if (baseline >= limit && baseline > current) {
    return holds({ level: 'settled', severity: 'warning', threshold: dropLimit(baseline, thresholds) });
  }
  return baseline * 10n < limit * 9n || baseline <= current ? clear(true) : UNDECIDED;
}

/**
 * Returns the largest number of credits that is still a drop from the baseline. It is found by bisection, because the
 * ratio may be any decimal.
 */
export function dropLimit(baseline: bigint, thresholds: JumpSize): bigint {
  let low = -1n;
  let high = baseline;
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (jumpThreshold(middle, thresholds) <= baseline) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * The search for stopped tenants runs once in each of these intervals, because tenants without changes have no
 * entries that would lead to them.
 */
const STOPPED_EVERY_MS = 6 * 3_600_000;
/**
 * The search looks ahead by this much, because a run may end slightly earlier in the day than the run of the last
 * change.
 */
const EARLY_MS = 1_800_000;

const { placeholder } = sql;

const runsFinishedBetween = prepared((db) => {
  // Written like the index by time, so that SQLite uses it.
  const isApplied = and(eq(runs.workspaceKey, placeholder('workspaceKey')), isNotNull(runs.appliedSeq));
  const isBetween = and(gt(runs.finishedAt, placeholder('from')), lte(runs.finishedAt, placeholder('until')));
  const ends = db.select({ first: min(runs.runKey), last: max(runs.runKey) });
  return ends.from(runs).where(and(isApplied, isBetween));
});

/**
 * Finds tenants whose silence has just reached one of the times in SILENT_DAYS. The search runs in the first run of
 * each quarter of a day. A tenant's last record may be in this period or in the previous one.
 */
function findSilent({ merged, usageHistory }: RuleContext, periodKey: number): Candidate[] {
  const lastRunMs = usageHistory.lastRunMs();
  if (lastRunMs === null) return [];
  const slotOf = (ms: number) => Math.floor(ms / STOPPED_EVERY_MS) * STOPPED_EVERY_MS;
  if (slotOf(merged.nowMs) <= slotOf(lastRunMs)) return [];
  const found = SILENT_DAYS.flatMap((days) => {
    // The searches overlap slightly, which is cheap and leaves no gap.
    const from = isoTime(slotOf(lastRunMs) - days * DAY_MS);
    return silentBetween(merged, periodKey, { from, until: isoTime(merged.nowMs + EARLY_MS - days * DAY_MS) });
  });
  return [...new Set(found)].map((tenantKey) => ({ periodKey, tenantKey }));
}

function silentBetween(merged: MergedRun, periodKey: number, times: { from: string; until: string }): number[] {
  const { connection, run } = merged;
  const ends = runsFinishedBetween(connection).get({ workspaceKey: run.workspaceKey, ...times });
  const { first = null, last = null } = ends ?? {};
  if (first === null || last === null) return [];
  return silentOf(connection).all({ periodKey, first, last }) as number[];
}

const silentOf = preparedSql(
  `SELECT tenant_key FROM tenant_usage
       WHERE period_key = @periodKey AND changed_run_key BETWEEN @first AND @last AND withdrawn = 0 AND credits_used > 0
       UNION ALL
       SELECT prev.tenant_key FROM tenant_usage prev
       WHERE prev.period_key = @periodKey - 1 AND prev.changed_run_key BETWEEN @first AND @last AND prev.withdrawn = 0
         AND prev.credits_used > 0 AND NOT EXISTS (SELECT 1 FROM tenant_usage cur
           WHERE cur.period_key = @periodKey AND cur.tenant_key = prev.tenant_key
             AND (cur.credits_used > 0 OR cur.withdrawn = 1))`,
  'pluck',
);
