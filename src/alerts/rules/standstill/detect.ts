import { isoTime } from '../../../core/clock.ts';
import { oncePerKey } from '../../../core/one-at-a-time.ts';
import { periodAt } from '../../../core/period.ts';
import { ageMs } from '../../../core/stored-time.ts';
import { preparedSql } from '../../../ledger/store/schema/drizzle.ts';
import { periodKeyOf, workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { floorCredits } from '../../figures/threshold.ts';
import { NO_USAGE } from '../../figures/usage-figures.ts';
import { judgeStandstill } from '../drop/stopped.ts';
import { useReader } from '../drop/use-before.ts';
import { clear } from '../judgement.ts';
import { type Judging, perRun } from '../judging/judging.ts';
import type { Detection, Found, Known, Said } from '../rule.ts';

/** Fewer active tenants may stop together by chance. */
const LEAST_TENANTS = 5;
const DAY_MS = 86_400_000;

export const standstillDetection: Detection = { inRun: findStandstill, ofWorkspace };

const lastChangeOf = preparedSql(
  'SELECT max(changed_run_key) FROM tenant_usage WHERE period_key BETWEEN ? AND ? AND credits_used > 0',
  'pluck',
);

const lastUsersOf = preparedSql(
  `SELECT count(DISTINCT u.tenant_key) FROM tenant_usage u JOIN runs r ON r.run_key = u.changed_run_key
       WHERE u.period_key BETWEEN ? AND ? AND u.credits_used > 0 AND r.finished_at >= ?`,
  'pluck',
);

/**
 * Returns the last change of the workspace's figures, as known since the previous month; null without any. It reads all
 * of them.
 */
const lastChanges = perRun(({ connection, curves, nowMs }) => ({
  sinceMonthBefore: oncePerKey((periodKey: number): number | null => {
    const current = periodKeyOf(workspaceKeyOf(periodKey), periodAt(nowMs));
    const changedBy = lastChangeOf(connection).get(periodKey - 1, current) as number | null;
    return changedBy === null ? null : (curves.endOf(changedBy) ?? nowMs);
  }),
}));

/** It is about the month in which figures changed last. */
function findStandstill(judging: Judging, current: number): Found[] {
  if (judging.merged.changed.has(current)) return [];
  const lastMs = lastChanges(judging).sinceMonthBefore(current);
  if (lastMs === null) return [];
  return [{ periodKey: periodKeyOf(workspaceKeyOf(current), periodAt(lastMs)), tenantKey: null }];
}

function ofWorkspace(judging: Judging, periodKey: number, known: Known | null): Said {
  const lastMs = lastChanges(judging).sinceMonthBefore(periodKey);
  const { figures } = judging.total(periodKey);
  const wereMany = (sinceMs: number): boolean =>
    (lastUsersOf(judging.connection).get(periodKey - 1, periodKey, isoTime(sinceMs)) as number) >= LEAST_TENANTS;
  const judgement =
    lastMs === null
      ? clear(true)
      : judgeStandstill({
          silentMs: ageMs(lastMs, judging.nowMs) ?? 0,
          firing: known?.firing != null,
          before: () => (wereMany(lastMs - DAY_MS) ? useReader(judging).before(periodKey, null, lastMs) : null),
          floor: floorCredits(judging.settings.workspace),
        });
  return {
    judgement,
    current: figures ?? NO_USAGE,
    previous: judging.total(periodKey - 1).figures,
    detail: lastMs === null ? null : isoTime(lastMs),
  };
}
