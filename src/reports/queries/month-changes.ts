import type { Period } from '../../core/period.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { periodKeyOf } from '../../ledger/store/schema/keys.ts';
import { findPeriod, findWorkspace, tenantIdOf } from '../../ledger/store/subjects.ts';
import { bookedSql } from '../../ledger/store/sum-money.ts';

/**
 * Why a tenant is charged another amount than in the month before: other credits, another card, other corrections of earlier
 * months, other lines by hand, requests where nothing else says it; `new` and `gone`: nothing then, nothing now.
 */
export type ChangeReason = 'new' | 'gone' | 'usage' | 'card' | 'corrections' | 'lines' | 'requests';

export interface TenantChange {
  workspaceId: string;
  tenantId: string;
  currency: string;
  amountMinor: bigint;
  previousMinor: bigint;
  credits: bigint;
  previousCredits: bigint;
  reasons: ChangeReason[];
}

interface Side {
  credits: bigint;
  card: string | null;
  correctionMinor: bigint;
  manualMinor: bigint;
}

/** The largest changes of a workspace's charges against the month before, so many of each currency, the largest first. */
export function largestChanges(
  connection: LedgerDb,
  { workspaceId, period, limit }: { workspaceId: string; period: Period; limit: number },
): TenantChange[] {
  const workspace = findWorkspace(connection, workspaceId);
  if (workspace === undefined) return [];
  const periodKey = periodKeyOf(workspace.workspaceKey, period);
  if (findPeriod(connection, periodKey - 1) === undefined) return [];
  const sideOf = sideReader(connection);
  const rows = connection
    .prepare(
      `SELECT tenant_key AS tenantKey, currency, now AS amountMinor, before AS previousMinor FROM (
         SELECT tenant_key, currency, now, before,
           row_number() OVER (PARTITION BY currency ORDER BY abs(now - before) DESC, tenant_key) AS place
         FROM (
           SELECT tenant_key, currency, sum(now) AS now, sum(before) AS before
           FROM (
             SELECT tenant_key, currency, amount_minor AS now, 0 AS before FROM (${charged(':now')})
             UNION ALL SELECT tenant_key, currency, 0, amount_minor FROM (${charged(':before')})
             UNION ALL SELECT tenant_key, currency, amount_minor, 0 FROM (${bookedSql(':now')})
             UNION ALL SELECT tenant_key, currency, 0, amount_minor FROM (${bookedSql(':before')}))
           WHERE currency IS NOT NULL GROUP BY tenant_key, currency)
         WHERE now <> before)
       WHERE place <= :limit ORDER BY currency, place`,
    )
    .safeIntegers()
    .all({ now: periodKey, before: periodKey - 1, limit }) as Changed[];
  return rows.map(({ tenantKey, ...amounts }) => {
    const now = sideOf(periodKey, tenantKey);
    const before = sideOf(periodKey - 1, tenantKey);
    return {
      workspaceId,
      tenantId: tenantIdOf(connection, Number(tenantKey)),
      ...amounts,
      credits: now.credits,
      previousCredits: before.credits,
      reasons: reasonsOf(now, before),
    };
  });
}

type Changed = Pick<TenantChange, 'currency' | 'amountMinor' | 'previousMinor'> & { tenantKey: bigint };

function charged(periodKey: string): string {
  return `SELECT tenant_key, currency, amount_minor FROM charges JOIN rate_cards USING (card_key) WHERE period_key = ${periodKey}`;
}

/** A tenant's credits, card, corrections and lines by hand in a period; those of a closed one as its close has frozen them. */
function sideReader(connection: LedgerDb): (periodKey: number, tenantKey: bigint) => Side {
  const booked = (kind: string) =>
    `SELECT coalesce(sum(amount_minor), 0) FROM (${bookedSql(':periodKey')}) WHERE tenant_key = :tenantKey AND kind = '${kind}'`;
  const read = connection
    .prepare(
      `SELECT coalesce(CASE WHEN p.closed_seq IS NULL
           THEN (SELECT u.credits_used FROM tenant_usage u WHERE u.period_key = p.period_key AND u.tenant_key = :tenantKey)
           ELSE (SELECT z.credits_used FROM closed_usage z WHERE z.period_key = p.period_key AND z.tenant_key = :tenantKey)
         END, 0) AS credits,
         (SELECT k.digest FROM charges c JOIN rate_cards k USING (card_key)
          WHERE c.period_key = p.period_key AND c.tenant_key = :tenantKey) AS card,
         (${booked('correction')}) AS correctionMinor, (${booked('manual')}) AS manualMinor
       FROM periods p WHERE p.period_key = :periodKey`,
    )
    .safeIntegers();
  return (periodKey, tenantKey) =>
    (read.get({ periodKey, tenantKey }) as Side | undefined) ?? {
      credits: 0n,
      card: null,
      correctionMinor: 0n,
      manualMinor: 0n,
    };
}

function reasonsOf(now: Side, before: Side): ChangeReason[] {
  const reasons: ChangeReason[] = [];
  if (before.card === null && now.card !== null) reasons.push('new');
  else if (before.card !== null && now.card === null) reasons.push('gone');
  else {
    if (now.credits !== before.credits) reasons.push('usage');
    if (now.card !== before.card) reasons.push('card');
  }
  if (now.correctionMinor !== before.correctionMinor) reasons.push('corrections');
  if (now.manualMinor !== before.manualMinor) reasons.push('lines');
  if (reasons.length === 0) reasons.push('requests');
  return reasons;
}
