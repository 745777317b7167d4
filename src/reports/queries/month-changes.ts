import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { preparedSql } from '../../ledger/store/schema/drizzle.ts';
import { findPeriod, tenantIdOf, workspaceOfPeriod } from '../../ledger/store/subjects.ts';
import { correctionsAndLinesSql } from '../../ledger/store/sum-money.ts';

/**
 * The reason why a tenant's amount differs from the previous month: `usage` (different credits), `card` (a different
 * rate card), `corrections` (different corrections of earlier months), `lines` (different manual lines), `requests`
 * (none of the other reasons applies), `new` (no charge in the previous month) or `gone` (no charge in this month).
 */
export type MonthChangeReason = 'new' | 'gone' | 'usage' | 'card' | 'corrections' | 'lines' | 'requests';

export interface TenantChange {
  workspaceId: string;
  tenantId: string;
  currency: string;
  amountMinor: bigint;
  previousMinor: bigint;
  credits: bigint;
  previousCredits: bigint;
  reasons: MonthChangeReason[];
}

interface Side {
  credits: bigint;
  card: string | null;
  correctionMinor: bigint;
  manualMinor: bigint;
}

/** A tenant's amount in a month and in the previous month, in one currency. */
export interface ChangedAmount extends Pick<TenantChange, 'currency' | 'amountMinor' | 'previousMinor'> {
  periodKey: number;
  tenantKey: bigint;
}

/**
 * Returns the tenants of a workspace whose amounts changed most since the previous month: at most `limit` per currency,
 * the largest change first. Returns none for the workspace's first month.
 */
export function largestChanges(connection: LedgerDb, periodKey: number, limit: number): ChangedAmount[] {
  if (findPeriod(connection, periodKey - 1) === undefined) return [];
  const rows = selectChanges(connection).all({ now: periodKey, before: periodKey - 1, limit });
  return (rows as Omit<ChangedAmount, 'periodKey'>[]).map((row) => ({ ...row, periodKey }));
}

/** Adds the credits of both months, and the reasons, to a tenant's changed amount. */
export function explainChange(connection: LedgerDb, { periodKey, tenantKey, ...amounts }: ChangedAmount): TenantChange {
  const [now, before] = [readSide(connection, periodKey, tenantKey), readSide(connection, periodKey - 1, tenantKey)];
  return {
    workspaceId: workspaceOfPeriod(connection, periodKey).workspaceId,
    tenantId: tenantIdOf(connection, Number(tenantKey)),
    ...amounts,
    credits: now.credits,
    previousCredits: before.credits,
    reasons: reasonsOf(now, before),
  };
}

function chargedSql(periodKey: string): string {
  return `SELECT tenant_key, currency, amount_minor FROM charges JOIN rate_cards USING (card_key) WHERE period_key = ${periodKey}`;
}

const selectChanges = preparedSql(
  `SELECT tenant_key AS tenantKey, currency, now AS amountMinor, before AS previousMinor FROM (
     SELECT tenant_key, currency, now, before,
       row_number() OVER (PARTITION BY currency ORDER BY abs(now - before) DESC, tenant_key) AS place
     FROM (
       SELECT tenant_key, currency, sum(now) AS now, sum(before) AS before
       FROM (
         SELECT tenant_key, currency, amount_minor AS now, 0 AS before FROM (${chargedSql(':now')})
         UNION ALL SELECT tenant_key, currency, 0, amount_minor FROM (${chargedSql(':before')})
         UNION ALL SELECT tenant_key, currency, amount_minor, 0 FROM (${correctionsAndLinesSql(':now')})
         UNION ALL SELECT tenant_key, currency, 0, amount_minor FROM (${correctionsAndLinesSql(':before')}))
       WHERE currency IS NOT NULL GROUP BY tenant_key, currency)
     WHERE now <> before)
   WHERE place <= :limit ORDER BY currency, place`,
  'safeIntegers',
);

const booked = (kind: string): string =>
  `SELECT coalesce(sum(amount_minor), 0) FROM (${correctionsAndLinesSql(':periodKey')}) WHERE tenant_key = :tenantKey AND kind = '${kind}'`;
const selectSide = preparedSql(
  `SELECT coalesce(CASE WHEN p.closed_seq IS NULL
       THEN (SELECT u.credits_used FROM tenant_usage u WHERE u.period_key = p.period_key AND u.tenant_key = :tenantKey)
       ELSE (SELECT z.credits_used FROM closed_usage z WHERE z.period_key = p.period_key AND z.tenant_key = :tenantKey)
     END, 0) AS credits,
     (SELECT k.digest FROM charges c JOIN rate_cards k USING (card_key)
      WHERE c.period_key = p.period_key AND c.tenant_key = :tenantKey) AS card,
     (${booked('correction')}) AS correctionMinor, (${booked('manual')}) AS manualMinor
   FROM periods p WHERE p.period_key = :periodKey`,
  'safeIntegers',
);

/**
 * Reads a tenant's credits, rate card, corrections and manual lines in a period. In a closed period, the credits are
 * those that the close recorded.
 */
function readSide(connection: LedgerDb, periodKey: number, tenantKey: bigint): Side {
  const found = selectSide(connection).get({ periodKey, tenantKey }) as Side | undefined;
  return found ?? { credits: 0n, card: null, correctionMinor: 0n, manualMinor: 0n };
}

function reasonsOf(now: Side, before: Side): MonthChangeReason[] {
  const reasons: MonthChangeReason[] = [];
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
