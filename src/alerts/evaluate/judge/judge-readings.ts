import { periodStartMs } from '../../../core/period.ts';
import { Falls } from '../../history/falls.ts';
import { floorCredits } from '../../rules/measures/threshold.ts';
import { type Observation, observation } from '../../rules/observation.ts';
import { judgeRegression } from '../../rules/regression.ts';
import { judgeRestatement } from '../../rules/restatement.ts';
import { clear, NO_USAGE, type UsageFigures } from '../../rules/rule.ts';
import { judgeWithdrawn } from '../../rules/withdrawn.ts';
import type { TenantFacts } from '../candidates.ts';
import type { JudgeSources } from './judge-sources.ts';

/** The rules about two readings of one period. */
export interface ReadingsJudge {
  /** `lost` is what the open alert says; null without one. `before`: what the counter showed before this run took something off it. */
  regression(tenant: TenantFacts, lost: bigint | null, before?: UsageFigures): Observation;
  restatement(tenant: TenantFacts): Observation;
  withdrawn(tenant: TenantFacts, before: UsageFigures): Observation;
}

export function createReadingsJudge(sources: JudgeSources): ReadingsJudge {
  const { connection, settings, factsOf, tenantId, curves, nowMs, lastEntryIdBefore } = sources;
  const closedOf = connection
    .prepare(
      `SELECT c.credits_used, c.request_count FROM periods p
       LEFT JOIN closed_usage c ON c.period_key = p.period_key AND c.tenant_key = ?
       WHERE p.period_key = ? AND p.closed_seq IS NOT NULL`,
    )
    .safeIntegers()
    .raw();
  const falls = new Falls({ connection, history: curves.sources.history, nowMs, lastEntryIdBefore });
  const subject = (rule: Observation['rule'], { periodKey, tenantKey, current }: TenantFacts) => {
    return { rule, periodKey, tenantKey, phase: factsOf(periodKey).phase, current: current ?? NO_USAGE };
  };

  return {
    regression(tenant, lost, before) {
      const { periodKey, tenantKey } = tenant;
      const current = tenant.current ?? NO_USAGE;
      const startMs = periodStartMs(factsOf(periodKey).period);
      const isNew = before !== undefined;
      const judgement = judgeRegression({
        fall: isNew ? { missing: before.credits - current.credits, before: before.credits } : null,
        lost: lost !== null && (!isNew || falls.isRecent(periodKey, tenantKey)) ? lost : 0n,
        usual: isNew ? falls.usual(periodKey, tenantKey) : null,
        restored: !isNew && lost !== null && falls.isRestored({ periodKey, tenantKey, startMs }, lost),
      });
      const missing = judgement.verdict === 'holds' ? (judgement.finding.measure ?? 0n) : (lost ?? 0n);
      // What the counter would show without what it has lost.
      const previous = { credits: current.credits + missing, requests: (before ?? current).requests };
      return observation({ ...subject('regression', tenant), judgement, previous });
    },
    restatement(tenant) {
      const { periodKey, tenantKey } = tenant;
      const row = closedOf.get(tenantKey, periodKey) as [bigint | null, bigint | null] | undefined;
      const closed = row === undefined ? null : { credits: row[0] ?? 0n, requests: row[1] ?? 0n };
      const stated = closed ?? curves.settledFigures(periodKey, tenantKey);
      const current = tenant.current ?? NO_USAGE;
      const floor = floorCredits(settings.of(tenantId(tenantKey)));
      // A record that is gone is told as withdrawn.
      const judgement = tenant.withdrawn
        ? clear(true)
        : judgeRestatement({ stated, closed: closed !== null, current, floor });
      return observation({ ...subject('restatement', tenant), judgement, previous: stated });
    },
    withdrawn(tenant, before) {
      const judgement = judgeWithdrawn(tenant.withdrawn, before.credits);
      return observation({ ...subject('withdrawn', tenant), judgement, previous: before });
    },
  };
}
