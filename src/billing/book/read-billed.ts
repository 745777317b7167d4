import { AppError } from '../../core/errors.ts';
import type { Period } from '../../core/period.ts';
import type { LedgerConnection } from '../../ledger/file/open.ts';
import { periodOfKey } from '../../ledger/schema/keys.ts';
import type { BilledLine, BilledTenant } from '../statement/billed.ts';
import type { Certificate } from '../statement/leaf.ts';

/** A period in the ledger, and from where its figures and names are read. */
export interface PeriodPlace {
  periodKey: number;
  /** The close whose figures, names and cards count; null while the period is not closed. */
  closedSeq: number | null;
}

interface TenantRecord {
  tenantKey: bigint;
  tenantId: string;
  creditsUsed: bigint;
  requestCount: bigint;
  displayName: string | null;
  externalRef: string | null;
  cardKey: bigint | null;
  amountMinor: bigint | null;
}

type LineRecord = Omit<BilledLine, 'tier' | 'currency' | 'rateCard' | 'correctsPeriod'> & {
  tier: bigint | null;
  amountMinor: bigint | null;
  cardKey: bigint;
  correctsKey: bigint | null;
};

/**
 * Gives every tenant with figures or corrections in the period, in the byte order of their ids, one at a time: a period
 * may have a million. Of a closed period it is what stood at its close, for ever.
 *
 * @throws AppError `amount_too_large` at a tenant whose amounts do not fit into 64 bits.
 */
export function* billedTenants(
  connection: LedgerConnection,
  { periodKey, closedSeq }: PeriodPlace,
  tenantId?: string,
): Generator<BilledTenant> {
  const figures = closedSeq === null ? 'tenant_usage' : 'closed_usage';
  const cards = cardNames(connection);
  const tenants = connection
    .prepare(
      `SELECT t.tenant_key AS tenantKey, t.tenant_id AS tenantId, coalesce(u.credits_used, 0) AS creditsUsed,
         coalesce(u.request_count, 0) AS requestCount, n.display_name AS displayName, n.external_ref AS externalRef,
         c.card_key AS cardKey, c.amount_minor AS amountMinor
       FROM (
         SELECT tenant_key FROM ${figures} WHERE period_key = :periodKey AND withdrawn = 0
         UNION SELECT tenant_key FROM charge_corrections WHERE booked_period_key = :periodKey) k
       JOIN tenants t ON t.tenant_key = k.tenant_key
       LEFT JOIN ${figures} u ON u.period_key = :periodKey AND u.tenant_key = k.tenant_key
       LEFT JOIN charges c ON c.period_key = :periodKey AND c.tenant_key = k.tenant_key
       LEFT JOIN tenant_names n ON n.tenant_key = k.tenant_key AND n.after_seq = (
         SELECT max(m.after_seq) FROM tenant_names m WHERE m.tenant_key = k.tenant_key AND m.after_seq < :seq)
       WHERE :tenantId IS NULL OR t.tenant_id = :tenantId
       ORDER BY t.tenant_id`,
    )
    .safeIntegers();
  const lines = connection
    .prepare(
      `SELECT kind, tier, credits, unit_credits AS unitCredits, unit_price AS unitPrice, amount_minor AS amountMinor,
         :cardKey AS cardKey, NULL AS correctsKey, NULL AS entryId
       FROM charge_lines WHERE period_key = :periodKey AND tenant_key = :tenantKey ORDER BY line_number`,
    )
    .safeIntegers();
  const corrections = connection
    .prepare(
      `SELECT 'correction' AS kind, NULL AS tier, x.credits_delta AS credits, NULL AS unitCredits, NULL AS unitPrice,
         x.amount_minor AS amountMinor, x.card_key AS cardKey, x.corrects_period_key AS correctsKey,
         a.entry_id AS entryId
       FROM charge_corrections x JOIN adjustments a USING (adjustment_id)
       WHERE x.booked_period_key = :periodKey AND x.tenant_key = :tenantKey ORDER BY x.adjustment_id`,
    )
    .safeIntegers();
  const seq = closedSeq ?? Number.MAX_SAFE_INTEGER;
  const found = tenants.iterate({ periodKey, seq, tenantId: tenantId ?? null }) as IterableIterator<TenantRecord>;
  for (const { tenantKey, cardKey, amountMinor, ...tenant } of found) {
    const own = cardKey === null ? [] : lines.all({ periodKey, tenantKey, cardKey });
    const records = [...own, ...corrections.all({ periodKey, tenantKey })] as LineRecord[];
    if (cardKey !== null && amountMinor === null) throw tooLarge(tenant.tenantId, periodOfKey(periodKey));
    yield { ...tenant, lines: records.map((record) => toLine(record, cards, tenant.tenantId, periodKey)) };
  }
}

/** The proven run that the figures stand on: the last one that covered the period, before its close if there is one. */
export function certificateOf(connection: LedgerConnection, { periodKey, closedSeq }: PeriodPlace): Certificate | null {
  const period = periodOfKey(periodKey);
  const run = connection
    .prepare(
      `SELECT r.run_id AS runId, r.finished_at AS finishedAt, r.records, r.digest
       FROM runs r JOIN periods p ON p.workspace_key = r.workspace_key
       WHERE p.period_key = ? AND r.status = 'applied' AND r.from_period <= ? AND r.to_period >= ? AND r.applied_seq < ?
       ORDER BY r.run_key DESC LIMIT 1`,
    )
    .get(periodKey, period, period, closedSeq ?? Number.MAX_SAFE_INTEGER) as Certificate | undefined;
  return run ?? null;
}

function toLine(
  { cardKey, correctsKey, tier, amountMinor, ...line }: LineRecord,
  cards: ReadonlyMap<bigint, CardName>,
  tenantId: string,
  periodKey: number,
): BilledLine {
  if (amountMinor === null) throw tooLarge(tenantId, periodOfKey(periodKey));
  return {
    ...line,
    tier: tier === null ? null : Number(tier),
    amountMinor,
    ...(cards.get(cardKey) ?? { currency: '', rateCard: '' }),
    correctsPeriod: correctsKey === null ? null : periodOfKey(Number(correctsKey)),
  };
}

function tooLarge(tenantId: string, period: Period): AppError {
  const whose = `what tenant ${JSON.stringify(tenantId)} is to pay for ${period}`;
  return new AppError('amount_too_large', `${whose} does not fit into 64 bits of minor units`, {
    hint: 'correct its rate card: no price can be meant to lead there',
  });
}

interface CardName {
  currency: string;
  rateCard: string;
}

function cardNames(connection: LedgerConnection): Map<bigint, CardName> {
  const cards = connection
    .prepare('SELECT card_key AS cardKey, currency, name AS rateCard FROM rate_cards')
    .safeIntegers()
    .all() as (CardName & { cardKey: bigint })[];
  return new Map(cards.map(({ cardKey, ...card }) => [cardKey, card]));
}
