import type { BilledLine, BilledTenant } from '../../../billing/statement/billed.ts';
import type { Certificate } from '../../../billing/statement/leaf.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { rateCards } from '../../store/schema/billing-tables.ts';
import { and, desc, eq, gte, lt, lte, query } from '../../store/schema/drizzle.ts';
import { periodOfKey, workspaceKeyOf } from '../../store/schema/keys.ts';
import { runs } from '../../store/schema/run-tables.ts';
import { isOnDocumentSql } from '../../store/sum-money.ts';

/** A period and the close that determines its figures and names. */
export interface PeriodPlace {
  periodKey: number;
  /** The close that fixes figures, names and cards; null while the period is open. */
  closedSeq: number | null;
}

/**
 * A row of the query: a charge line with its tenant, or a tenant without lines. The columns are in the order of
 * `BILLED_COLUMNS`.
 */
type BilledRecord = [
  tenantKey: bigint,
  tenantId: string,
  creditsUsed: bigint,
  requestCount: bigint,
  displayName: string | null,
  externalRef: string | null,
  cardKey: bigint | null,
  amountMinor: bigint | null,
  isBooked: bigint,
  lineNumber: bigint | null,
  kind: BilledLine['kind'] | null,
  tier: bigint | null,
  credits: bigint | null,
  unitCredits: bigint | null,
  unitPrice: string | null,
  lineAmount: bigint | null,
  labels: string | null,
  requests: bigint | null,
];

/** Index of the line number in a row. The query returns the lines of a tenant in no particular order. */
const LINE_NUMBER = 9;
const LABELS = 16;
const BILLED_COLUMNS = `t.tenant_key, t.tenant_id, coalesce(u.credits_used, 0), coalesce(u.request_count, 0),
  n.display_name, n.external_ref, c.card_key, c.amount_minor, x.tenant_key IS NOT NULL,
  coalesce(l.line_number, iif(c.unit_price IS NULL, NULL, 1)), coalesce(l.kind, 'usage'), coalesce(l.tier, c.tier),
  iif(l.line_number IS NULL, c.credits_used, l.credits), coalesce(l.unit_credits, c.unit_credits),
  coalesce(l.unit_price, c.unit_price), coalesce(l.amount_minor, c.amount_minor), n.labels, l.requests`;

/**
 * Yields every tenant with figures, corrections or manual lines in the period, in the byte order of their ids. Yields
 * them one at a time, because a period may have a million tenants. For a closed period, the result is always the same,
 * because the close froze it. Tenants are read by the index of their ids, so that nothing is sorted, and are joined
 * with their lines: a query per tenant takes five times as long. Only tenants with corrections or manual lines are
 * queried one by one.
 */
export function* billedTenants(
  connection: LedgerDb,
  { periodKey, closedSeq }: PeriodPlace,
  tenantId?: string,
): Generator<BilledTenant> {
  const cards = cardNames(connection);
  const seq = closedSeq ?? Number.MAX_SAFE_INTEGER;
  const records = billedStatement(connection, { isClosed: closedSeq !== null, isOne: tenantId !== undefined }).iterate({
    workspaceKey: workspaceKeyOf(periodKey),
    periodKey,
    seq,
    ...(tenantId === undefined ? {} : { tenantId }),
  }) as IterableIterator<BilledRecord>;
  const booked = bookedStatement(connection);
  const hasNumbers = connection.prepare('SELECT 1 FROM statement_numbers WHERE close_seq = ? LIMIT 1').get(closedSeq);
  const numbers = hasNumbers === undefined ? undefined : numberStatement(connection);
  let last: bigint | null = null;
  let tenant: (BilledTenant & { lines: BilledLine[] }) | null = null;
  let isBooked = false;
  const finish = (): BilledTenant | null => {
    if (tenant !== null && last !== null && isBooked) {
      for (const record of booked.all({ periodKey, tenantKey: last, seq }) as BookedRecord[]) {
        tenant.lines.push(bookedLine(record, cards));
      }
    }
    const number = last === null ? undefined : numbers?.get(closedSeq, last);
    if (tenant !== null && typeof number === 'string') tenant.statementNumber = number;
    return tenant;
  };
  for (const record of records) {
    const [tenantKey, id, creditsUsed, requestCount, displayName, externalRef, , , hasBooked] = record;
    if (tenantKey !== last) {
      const done = finish();
      if (done !== null) yield done;
      last = tenantKey;
      isBooked = hasBooked !== 0n;
      tenant = { tenantId: id, displayName, externalRef, creditsUsed, requestCount, lines: [], labels: record[LABELS] };
    }
    const lineNumber = record[LINE_NUMBER];
    if (tenant !== null && lineNumber !== null) tenant.lines[Number(lineNumber) - 1] = ownLine(record, cards);
  }
  const done = finish();
  if (done !== null) yield done;
}

function numberStatement(connection: LedgerDb) {
  return connection.prepare('SELECT number FROM statement_numbers WHERE close_seq = ? AND tenant_key = ?').pluck();
}

function billedStatement(connection: LedgerDb, { isClosed, isOne }: { isClosed: boolean; isOne: boolean }) {
  return connection
    .prepare(
      `SELECT ${BILLED_COLUMNS}
       FROM tenants t
       LEFT JOIN ${isClosed ? 'closed_usage' : 'tenant_usage'} u
         ON u.period_key = :periodKey AND u.tenant_key = t.tenant_key
       LEFT JOIN (SELECT tenant_key FROM charge_corrections WHERE booked_period_key = :periodKey
           UNION SELECT tenant_key FROM manual_lines m WHERE period_key = :periodKey AND ${isOnDocumentSql(':seq')}) x
         ON x.tenant_key = t.tenant_key
       LEFT JOIN charges c ON c.period_key = :periodKey AND c.tenant_key = t.tenant_key
       LEFT JOIN tenant_names n ON n.tenant_key = t.tenant_key AND n.after_seq = (
         SELECT max(m.after_seq) FROM tenant_names m WHERE m.tenant_key = t.tenant_key AND m.after_seq < :seq)
       LEFT JOIN charge_lines l ON l.period_key = c.period_key AND l.tenant_key = c.tenant_key
       WHERE t.workspace_key = :workspaceKey AND (u.withdrawn = 0 OR x.tenant_key IS NOT NULL)
         ${isOne ? 'AND t.tenant_id = :tenantId' : ''}
       ORDER BY t.tenant_id`,
    )
    .safeIntegers()
    .raw();
}

interface BookedRecord {
  /** The corrected period; null for a manual line. */
  correctsKey: bigint | null;
  credits: bigint | null;
  amountMinor: bigint | null;
  cardKey: bigint | null;
  entryId: bigint | null;
  /**
   * For a manual line, its currency and reason. For a correction of a manual line, those of the corrected line. For
   * other corrections, null.
   */
  currency: string | null;
  reason: string | null;
}

/**
 * Selects a tenant's manual lines for a period, and then the tenant's corrections that are booked in the period. Both
 * are in the order in which they were recorded.
 */
function bookedStatement(connection: LedgerDb) {
  return connection
    .prepare(
      `SELECT NULL AS correctsKey, NULL AS credits, m.amount_minor AS amountMinor, NULL AS cardKey, NULL AS entryId,
         m.currency, m.reason, 0 AS isCorrection, m.line_id AS place
       FROM manual_lines m WHERE m.period_key = :periodKey AND m.tenant_key = :tenantKey AND ${isOnDocumentSql(':seq')}
       UNION ALL
       SELECT x.corrects_period_key, iif(x.line_id IS NULL, x.credits_delta, NULL), x.amount_minor, x.card_key, a.entry_id,
         m.currency, m.reason, 1, x.correction_id
       FROM charge_corrections x LEFT JOIN adjustments a USING (adjustment_id) LEFT JOIN manual_lines m USING (line_id)
       WHERE x.booked_period_key = :periodKey AND x.tenant_key = :tenantKey
       ORDER BY isCorrection, place`,
    )
    .safeIntegers();
}

/**
 * Returns the verified run that the figures of a period are based on: the last applied run that covered the period and,
 * if the period is closed, was applied before the close. Null if there is none.
 */
export function certificateOf(connection: LedgerDb, { periodKey, closedSeq }: PeriodPlace): Certificate | null {
  const period = periodOfKey(periodKey);
  const covers = and(lte(runs.fromPeriod, period), gte(runs.toPeriod, period));
  const isBefore = closedSeq === null ? undefined : lt(runs.appliedSeq, closedSeq);
  const found = query(connection)
    .select()
    .from(runs)
    .where(and(eq(runs.workspaceKey, workspaceKeyOf(periodKey)), eq(runs.status, 'applied'), covers, isBefore))
    .orderBy(desc(runs.runKey))
    .limit(1)
    .get();
  if (found === undefined) return null;
  const { runId, finishedAt, records, digest } = found;
  return { runId, finishedAt, records, digest } as Certificate;
}

function ownLine(
  [, , , , , , cardKey, , , , kind, tier, credits, unitCredits, unitPrice, amountMinor, , requests]: BilledRecord,
  cards: ReadonlyMap<bigint, BilledCard>,
): BilledLine {
  return {
    kind: kind as BilledLine['kind'],
    tier: tier === null ? null : Number(tier),
    credits,
    unitCredits,
    unitPrice,
    amountMinor: amountMinor as bigint,
    ...billedCardName(cardKey as bigint, cards),
    correctsPeriod: null,
    entryId: null,
    reason: null,
    requests,
    discountPercent: cards.get(cardKey as bigint)?.discountPercent ?? null,
  };
}

function bookedLine(
  { correctsKey, credits, amountMinor, cardKey, entryId, currency, reason }: BookedRecord,
  cards: ReadonlyMap<bigint, BilledCard>,
): BilledLine {
  const card = billedCardName(cardKey, cards);
  return {
    kind: correctsKey === null ? 'manual' : 'correction',
    tier: null,
    credits,
    unitCredits: null,
    unitPrice: null,
    amountMinor,
    currency: card.currency ?? currency,
    rateCard: card.rateCard,
    correctsPeriod: correctsKey === null ? null : periodOfKey(Number(correctsKey)),
    entryId,
    reason,
    requests: null,
  };
}

interface CardName {
  currency: string | null;
  rateCard: string | null;
}

type BilledCard = CardName & { discountPercent: string | null };

function billedCardName(cardKey: bigint | null, cards: ReadonlyMap<bigint, BilledCard>): CardName {
  const { currency = null, rateCard = null } = cards.get(cardKey ?? 0n) ?? {};
  return { currency, rateCard };
}

function cardNames(connection: LedgerDb): Map<bigint, BilledCard> {
  const cards = query(connection).select().from(rateCards).all();
  return new Map(
    cards.map(({ cardKey, currency, name, definition }) => {
      const { discount_percent: percent } = JSON.parse(definition) as { discount_percent?: string | number };
      return [
        BigInt(cardKey),
        { currency, rateCard: name, discountPercent: percent === undefined ? null : `${percent}` },
      ];
    }),
  );
}
