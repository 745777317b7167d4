import { isoTime } from '../../../core/clock.ts';
import { DAY_MS } from '../../../core/durations.ts';
import { oncePerKey } from '../../../core/one-at-a-time.ts';
import { periodAt } from '../../../core/period.ts';
import { ageMs } from '../../../core/stored-time.ts';
import { preparedSql } from '../../../ledger/store/schema/drizzle.ts';
import { periodKeyOf, workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { roundUpMinCredits } from '../../figures/threshold.ts';
import { NO_USAGE } from '../../figures/usage-figures.ts';
import { perRun, type RuleContext } from '../context/rule-context.ts';
import { judgeStandstill } from '../drop/stopped.ts';
import { usageReaderOf } from '../drop/use-before.ts';
import { clear } from '../judgement.ts';
import type { Candidate, Detection, OpenAlert, RuleResult } from '../rule.ts';

/** A workspace with fewer active tenants is not judged, because all of them may stop at once by chance. */
const MIN_ACTIVE_TENANTS = 5;

export const standstillDetection: Detection = { inRun: findStandstill, ofWorkspace: judgeStandstillOfWorkspace };

const lastWorkspaceChange = preparedSql(
  'SELECT max(changed_run_key) FROM tenant_usage WHERE period_key BETWEEN ? AND ? AND credits_used > 0',
  'pluck',
);

const lastUsersOf = preparedSql(
  `SELECT count(DISTINCT u.tenant_key) FROM tenant_usage u JOIN runs r ON r.run_key = u.changed_run_key
       WHERE u.period_key BETWEEN ? AND ? AND u.credits_used > 0 AND r.finished_at >= ?`,
  'pluck',
);

/**
 * Finds when a run last changed a figure of the workspace, in the month before `periodKey` or later; null if no run
 * did. The search reads all records of these months.
 */
const lastChanges = perRun(({ connection, usageHistory, nowMs }) => ({
  sinceMonthBefore: oncePerKey((periodKey: number): number | null => {
    const current = periodKeyOf(workspaceKeyOf(periodKey), periodAt(nowMs));
    const changedBy = lastWorkspaceChange(connection).get(periodKey - 1, current) as number | null;
    return changedBy === null ? null : (usageHistory.endOf(changedBy) ?? nowMs);
  }),
}));

/**
 * Returns the month in which a run last changed figures: that month is judged. Returns an empty list if this run
 * changed figures of the current month.
 */
function findStandstill(context: RuleContext, current: number): Candidate[] {
  if (context.merged.changed.has(current)) return [];
  const lastMs = lastChanges(context).sinceMonthBefore(current);
  if (lastMs === null) return [];
  return [{ periodKey: periodKeyOf(workspaceKeyOf(current), periodAt(lastMs)), tenantKey: null }];
}

function judgeStandstillOfWorkspace(context: RuleContext, periodKey: number, known: OpenAlert | null): RuleResult {
  const lastMs = lastChanges(context).sinceMonthBefore(periodKey);
  const { figures } = context.total(periodKey);
  const wereMany = (sinceMs: number): boolean =>
    (lastUsersOf(context.connection).get(periodKey - 1, periodKey, isoTime(sinceMs)) as number) >= MIN_ACTIVE_TENANTS;
  const judgement =
    lastMs === null
      ? clear(true)
      : judgeStandstill({
          silentMs: ageMs(lastMs, context.nowMs) ?? 0,
          firing: known?.firing != null,
          before: () => (wereMany(lastMs - DAY_MS) ? usageReaderOf(context).before(periodKey, null, lastMs) : null),
          floor: roundUpMinCredits(context.settings.workspace),
        });
  return {
    judgement,
    current: figures ?? NO_USAGE,
    previous: context.total(periodKey - 1).figures,
    detail: lastMs === null ? null : isoTime(lastMs),
  };
}
