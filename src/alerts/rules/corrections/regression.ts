import { periodStartMs } from '../../../core/period.ts';
import { NO_USAGE, type UsageFigures } from '../../measures/judgement.ts';
import { floorCredits } from '../../measures/threshold.ts';
import { heads } from '../../wording/facts-told.ts';
import { grouped } from '../../wording/names.ts';
import type { Judging, TenantFacts } from '../judging/judging.ts';
import type { Known, Said, UsageRule } from '../rule.ts';
import { entriesOfKind } from './entries-of-kind.ts';
import { falls } from './falls.ts';
import { judgeRegression } from './judge-regression.ts';

/** Credits of an open month are lost. */
export const regression: UsageRule = {
  kind: 'usage',
  version: 5,
  title: 'loss of credits',
  severity: 'warning',
  ofReadings: true,
  endsSettled: true,
  docs: {
    tells: 'credits of an open month that are lost',
    holds: { '': 'the counter of an open period fell by a hundredth and by `min_credits`, or more' },
  },
  words: {
    found(facts) {
      const [who, month, used] = heads(facts);
      const { previous = 0n, current = 0n } = facts.credits ?? {};
      return [
        `${who} lost ${grouped(previous - current)} credits of ${month}: ${used} now, ${grouped(previous)} without the loss.`,
      ];
    },
    over(facts) {
      const [who, month, used] = heads(facts);
      const { previous = 0n, current = 0n } = facts.credits ?? {};
      return previous > current
        ? `${month} has settled without the ${grouped(previous - current)} credits that ${who} had lost: ${used}.`
        : `The credits of ${month} that ${who} had lost are back: ${used} now.`;
    },
    manyFound: (month) => `lost credits of ${month}`,
    grown: 'More has been lost since the last message.',
    cost: 'The lost credits cost',
  },
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
