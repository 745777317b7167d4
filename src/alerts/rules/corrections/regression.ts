import { periodStartMs } from '../../../core/period.ts';
import { NO_USAGE, type UsageFigures } from '../../measures/judgement.ts';
import { floorCredits } from '../../measures/threshold.ts';
import type { Judging, TenantFacts } from '../judging/judging.ts';
import type { Known, Said, UsageRule } from '../rule.ts';
import { entriesOfKind } from './entries-of-kind.ts';
import { falls } from './falls.ts';
import { judgeRegression } from './judge-regression.ts';

export const regression: UsageRule = {
  inRun: ({ merged, factsOf }) =>
    entriesOfKind(merged, 'decreased').filter(({ periodKey }) => !factsOf(periodKey).phase.over),
  ofTenant,
};

/** `before`: what the counter showed before this run took something off it. */
function ofTenant(judging: Judging, tenant: TenantFacts, known: Known | null, before?: UsageFigures): Said | null {
  const { periodKey, tenantKey } = tenant;
  const current = tenant.current ?? NO_USAGE;
  const startMs = periodStartMs(judging.factsOf(periodKey).period);
  const history = falls(judging);
  const isNew = before !== undefined;
  const lost = known === null ? null : (known.measure ?? 0n);
  const judgement = judgeRegression({
    fall: isNew ? { missing: before.credits - current.credits, before: before.credits } : null,
    lost: lost !== null && (!isNew || history.isRecent(periodKey, tenantKey)) ? lost : 0n,
    floor: floorCredits(judging.settings.of(judging.tenantId(tenantKey))),
    usual: isNew ? history.usual(periodKey, tenantKey) : null,
    restored: !isNew && lost !== null && history.isRestored({ periodKey, tenantKey, startMs }, lost),
  });
  const measure = judgement.verdict === 'holds' ? (judgement.finding.measure ?? 0n) : null;
  // Of a fall that adds nothing to what was lost there is nothing to say.
  if (isNew && lost !== null && (measure === null || measure <= lost)) return null;
  // What the counter would show without what it has lost, which is nothing once that is back.
  const missing = judgement.verdict === 'clear' ? 0n : (measure ?? lost ?? 0n);
  const previous = { credits: current.credits + missing, requests: (before ?? current).requests };
  return { judgement, previous };
}
