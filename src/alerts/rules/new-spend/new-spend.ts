import type { Period } from '../../../core/period.ts';
import { perConnection } from '../../../ledger/store/schema/drizzle.ts';
import { workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { asWarning, NO_USAGE } from '../../measures/judgement.ts';
import { floorCredits, jumpThreshold } from '../../measures/threshold.ts';
import { baselineMonth, goesOn, heads, plan } from '../../wording/facts-told.ts';
import { dayName, grouped, named } from '../../wording/names.ts';
import type { Facts, FormerTenant } from '../../wording/notification.ts';
import { isGone } from '../drop/drop.ts';
import type { Judging, TenantFacts } from '../judging/judging.ts';
import type { Known, Said, UsageRule } from '../rule.ts';
import { judgeNewSpend } from './judge-new-spend.ts';
import { renames } from './renames.ts';

/** A tenant uses credits that had none the month before. */
export const newSpend: UsageRule = {
  ...{ kind: 'usage', version: 6, title: 'new spend', severity: 'both' },
  ...{ isGrowth: true, rename: 'newcomer', quietBy: 'min_credits' },
  docs: {
    tells:
      'a tenant without any credits in the month before, from 1,000 credits on; `likely`: it is probably the new id of one that has stopped, whose stop is not told beside it',
    holds: {
      happened: '`C >= min_credits`, and no record or no credits in the period before',
      likely: 'the same, and it is probably the [new id](#each-rule-with-an-example) of a tenant that has stopped',
    },
    severity: "warning; critical from what a jump of the mean tenant comes to, while it is nobody's new id",
  },
  words: {
    found(facts) {
      const [who, month, used] = heads(facts);
      const { former_tenant: former } = facts.evidence;
      if (former !== null) {
        const [id, day, before, now] = formerWords(former, facts);
        return [
          `${who} is probably the new id of ${id}, which used ${before} credits a day and has used nothing since ${day}.`,
          `${who} has used ${now} a day since it began: ${used} credits in ${month}, none in ${baselineMonth(facts)}.`,
          ...[goesOn(facts), plan(facts)],
        ];
      }
      return [
        `${who} is ${facts.evidence.detail ?? 'new'}: ${used} credits in ${month}, none in ${baselineMonth(facts)}.`,
        // What was told as likely was a new id.
        facts.event === 'worse' ? 'It is not the new id of another tenant: that one uses credits again.' : '',
        `That is over the limit of ${grouped(facts.threshold ?? 0n)} for new tenants.`,
        goesOn(facts),
        plan(facts),
      ];
    },
    over(facts) {
      const [who, month, used] = heads(facts);
      const limit = facts.threshold ?? 0n;
      const why =
        (facts.credits?.current ?? 0n) < limit
          ? `under the limit of ${grouped(limit)} for new tenants`
          : `and had credits in ${baselineMonth(facts)} after all`;
      return `${who} has ${used} credits in ${month}, ${why}.`;
    },
    manyFound: (month, likely) =>
      likely === 'all' ? `are probably new ids of others in ${month}` : `have begun to use credits in ${month}`,
    cost: 'That costs',
    beside: () => '',
  },
  candidates: ({ settings }, { facts, isLate }) =>
    facts.previousComplete && !facts.previousIsFirst && !isLate
      ? {
          where: 'coalesce(prev.credits_used, 0) <= 0 AND cur.credits_used >= @floor',
          values: { floor: settings.leastFloor },
        }
      : null,
  ofTenant,
};

const hadBefore = perConnection((connection) =>
  connection
    .prepare(
      `SELECT 1 FROM tenant_usage u JOIN periods p USING (period_key)
       LEFT JOIN closed_usage c ON c.period_key = u.period_key AND c.tenant_key = u.tenant_key
       WHERE u.period_key = ? AND u.tenant_key = ?
         AND (u.withdrawn = 1 OR (p.closed_seq IS NOT NULL AND c.credits_used > 0))`,
    )
    .pluck(),
);

/** To be asked after all that have stopped: it may be the new id of one. */
function ofTenant(judging: Judging, tenant: TenantFacts, known: Known | null): Said {
  const { factsOf, settings, tenantId, connection } = judging;
  const { periodKey, tenantKey } = tenant;
  const { phase, previousComplete, previousIsFirst } = factsOf(periodKey);
  const own = settings.of(tenantId(tenantKey));
  const floor = floorCredits(own);
  const outlook = () => (phase.over ? null : judging.outlook(periodKey, tenantKey));
  const judge = (hadCredits: boolean) =>
    judgeNewSpend({
      current: (tenant.current ?? NO_USAGE).credits,
      previous: { figures: tenant.previous, usable: previousComplete && !previousIsFirst },
      ...{ hadCredits, floor },
      criticalFrom: () => jumpThreshold(meanOf(judging, periodKey - 1), own),
      likely: () => outlook()?.likely ?? null,
    });
  const hopeful = judge(false);
  const had = hopeful.verdict === 'holds' && hadBefore(connection).get(periodKey - 1, tenantKey) !== undefined;
  const judgement = had ? judge(true) : hopeful;
  // Whose new id the open alert says that it is.
  const told = known?.former ?? null;
  const found = told !== null && isGone(judging, periodKey, told) ? told : renames(judging).formerOf(tenantKey);
  const former = judgement.verdict === 'holds' ? found : told;
  return {
    judgement: former === null ? judgement : asWarning(judgement),
    ...{ threshold: floor, former, detail: backSince(judging, tenant) },
    forecast: judgement.verdict === 'holds' ? outlook() : null,
  };
}

/** Credits that a tenant has used in a month on average. */
function meanOf({ total }: Judging, periodKey: number): bigint {
  const { figures, tenants } = total(periodKey);
  return figures === null ? 0n : figures.credits / BigInt(tenants);
}

const lastUseOf = perConnection((connection) =>
  connection
    .prepare(
      `SELECT p.period FROM tenant_usage u JOIN periods p USING (period_key)
       WHERE u.tenant_key = ? AND u.period_key < ? AND u.credits_used > 0 AND p.workspace_key = ?
       ORDER BY p.period DESC LIMIT 1`,
    )
    .pluck(),
);

/** Of who had used credits before: that it is back, and since when; else null. */
function backSince({ connection }: Judging, { periodKey, tenantKey }: TenantFacts): string | null {
  const period = lastUseOf(connection).get(tenantKey, periodKey, workspaceKeyOf(periodKey)) as Period | undefined;
  return period === undefined ? null : `back after its last credits in ${period}`;
}

function formerWords(
  { tenant_id, last_day, daily_credits, new_daily_credits }: FormerTenant,
  { created_at }: Facts,
): [id: string, day: string, before: string, now: string] {
  const day = dayName(last_day.slice(0, 7), Number(last_day.slice(8)), created_at);
  return [named(tenant_id), day, grouped(daily_credits), grouped(new_daily_credits)];
}
