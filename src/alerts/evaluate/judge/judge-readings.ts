import { periodStartMs } from '../../../core/period.ts';
import { Falls } from '../../history/falls.ts';
import { floorCredits } from '../../rules/measures/threshold.ts';
import { judgeRegression } from '../../rules/regression.ts';
import { judgeRestatement } from '../../rules/restatement.ts';
import { clear, NO_USAGE, type UsageFigures } from '../../rules/rule.ts';
import { judgeWithdrawn } from '../../rules/withdrawn.ts';
import type { TenantFacts } from '../candidates.ts';
import { type Observation, observation } from '../observation.ts';
import type { JudgeSources } from './judge-sources.ts';

/** The rules about two readings of one period. */
export interface ReadingsJudge {
  /** `fell` is what the counter fell by when that was told; null for a fall that this run has found. */
  regression(tenant: TenantFacts, peak: UsageFigures, fell: bigint | null): Observation;
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
    regression(tenant, peak, fell) {
      const { periodKey, tenantKey } = tenant;
      const current = (tenant.current ?? NO_USAGE).credits;
      const startMs = periodStartMs(factsOf(periodKey).period);
      const judgement = judgeRegression({
        ...{ peak: peak.credits, current, fell },
        usual: fell === null ? falls.usual(periodKey, tenantKey) : null,
        restored: fell !== null && falls.isRestored({ periodKey, tenantKey, startMs }, fell),
      });
      return observation({ ...subject('regression', tenant), judgement, previous: peak, threshold: peak.credits });
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
