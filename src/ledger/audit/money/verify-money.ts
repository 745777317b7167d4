import type { Charge } from '../../../billing/rates/charge.ts';
import { PeriodPricer } from '../../../billing/rates/period-pricer.ts';
import { cardsAt, cardsInForce } from '../../journal/charges/card-store.ts';
import { buildTree } from '../../journal/charges/commit-close.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { charges, closeCommitments } from '../../store/schema/billing-tables.ts';
import { asc, eq } from '../../store/schema/drizzle.ts';
import { periodOfKey } from '../../store/schema/keys.ts';
import { periods, workspaces } from '../../store/schema/workspace-tables.ts';
import { FAULTS_A_CHECK, type Fault } from '../verify/fault.ts';
import { checkCorrections } from './verify-corrections.ts';

interface PricedPeriod {
  periodKey: number;
  workspaceId: string;
  closedSeq: number | null;
}

/**
 * Prices everything anew: the charge of each tenant in each period by the cards that hold for it, each correction by the
 * card of its close, and the tree that each close has committed to. A fault names the tenant, or the close.
 */
export function checkMoney(connection: LedgerConnection): Fault[] {
  const { periodKey, workspaceKey, closedSeq } = periods;
  const priced = query(connection)
    .select({ periodKey, workspaceId: workspaces.workspaceId, closedSeq })
    .from(periods)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, workspaceKey))
    .orderBy(asc(periodKey))
    .all();
  const faults: Fault[] = [];
  const add = (message: string): void => {
    if (faults.length < FAULTS_A_CHECK) faults.push({ check: 'money', runId: null, entryId: null, message });
  };
  for (const period of priced) for (const message of strangeCharges(connection, period)) add(message);
  for (const message of lostCharges(connection)) add(message);
  for (const message of checkCorrections(connection)) add(message);
  for (const period of priced) for (const message of strangeTree(connection, period)) add(message);
  return faults;
}

/** A tenant's figures, its charge, and the lines of that as one text; null without a charge or lines. */
type ChargedRow = [
  tenantId: string,
  credits: bigint,
  withdrawn: bigint,
  cardKey: bigint | null,
  chargedCredits: bigint | null,
  amountMinor: bigint | null,
  lines: string | null,
];

function* strangeCharges(connection: LedgerConnection, period: PricedPeriod): Generator<string> {
  const { periodKey, workspaceId, closedSeq } = period;
  const charged = query(connection).select().from(charges).where(eq(charges.periodKey, periodKey)).limit(1).get();
  const cards = closedSeq === null ? cardsInForce(connection) : cardsAt(connection, closedSeq);
  if (cards.length === 0 && charged === undefined) return;
  const pricer = new PeriodPricer(cards, workspaceId, periodOfKey(periodKey));
  const rows = connection
    .prepare(
      `SELECT t.tenant_id, u.credits_used, u.withdrawn, c.card_key, c.credits_used, c.amount_minor,
         (SELECT group_concat(line, '') FROM (
            SELECT json_array(line_number, kind, tier, credits, unit_credits, unit_price, amount_minor) AS line
            FROM charge_lines l WHERE l.period_key = u.period_key AND l.tenant_key = u.tenant_key ORDER BY line_number))
       FROM ${closedSeq === null ? 'tenant_usage' : 'closed_usage'} u
       JOIN tenants t USING (tenant_key)
       LEFT JOIN charges c ON c.period_key = u.period_key AND c.tenant_key = u.tenant_key
       WHERE u.period_key = ?`,
    )
    .safeIntegers()
    .raw()
    .iterate(periodKey) as IterableIterator<ChargedRow>;
  for (const [tenantId, credits, withdrawn, cardKey, chargedCredits, amountMinor, lines] of rows) {
    const priced = pricer.price(tenantId, credits, withdrawn === 0n);
    const charge = priced?.charge ?? null;
    const isRight =
      cardKey === (priced === null ? null : BigInt(priced.card.cardKey)) &&
      chargedCredits === (priced === null ? null : credits) &&
      amountMinor === (charge?.amountMinor ?? null) &&
      lines === (charge === null ? null : textOf(charge));
    if (!isRight) yield `${whereOf(tenantId, period)} is not charged what its rate card says`;
  }
}

/** As SQLite's json_array writes the lines. */
function textOf({ lines }: Charge): string {
  const texts = lines.map(({ kind, tier, credits, unitCredits, unitPrice, amountMinor }, index) => {
    const quoted = [JSON.stringify(kind), tier, credits, unitCredits, JSON.stringify(unitPrice), amountMinor];
    return `[${[index + 1, ...quoted].map(String).join(',')}]`;
  });
  return texts.join('');
}

/** Charges, and lines of them, of tenants that have no figures in the period. */
function* lostCharges(connection: LedgerConnection): Generator<string> {
  const rows = connection
    .prepare(
      `SELECT coalesce(t.tenant_id, '') AS tenantId, c.period_key AS periodKey, coalesce(w.workspace_id, '') AS workspaceId
       FROM (SELECT period_key, tenant_key FROM charges UNION SELECT period_key, tenant_key FROM charge_lines) c
       LEFT JOIN tenants t USING (tenant_key) LEFT JOIN periods p USING (period_key)
       LEFT JOIN workspaces w ON w.workspace_key = p.workspace_key
       WHERE NOT EXISTS (SELECT 1 FROM tenant_usage u
         WHERE u.period_key = c.period_key AND u.tenant_key = c.tenant_key AND p.closed_seq IS NULL)
       AND NOT EXISTS (SELECT 1 FROM closed_usage u
         WHERE u.period_key = c.period_key AND u.tenant_key = c.tenant_key AND p.closed_seq IS NOT NULL)
       LIMIT ${FAULTS_A_CHECK}`,
    )
    .all() as { tenantId: string; periodKey: number; workspaceId: string }[];
  for (const row of rows) yield `${whereOf(row.tenantId, row)} is charged without figures`;
}

function* strangeTree(
  connection: LedgerConnection,
  { periodKey, workspaceId, closedSeq }: PricedPeriod,
): Generator<string> {
  if (closedSeq === null) return;
  const isOfClose = eq(closeCommitments.eventSeq, closedSeq);
  const committed = query(connection).select().from(closeCommitments).where(isOfClose).get();
  if (committed === undefined) return;
  const { tree } = buildTree(connection, { periodKey, closedSeq }, () => false);
  if (tree.size === committed.leaves && tree.root.toString('hex') === committed.root) return;
  const close = `the close of ${periodOfKey(periodKey)} in workspace ${JSON.stringify(workspaceId)}`;
  yield `${close} has committed to other statements than those that stand here`;
}

function whereOf(tenantId: string, { periodKey, workspaceId }: Omit<PricedPeriod, 'closedSeq'>): string {
  return `${periodOfKey(periodKey)} of tenant ${JSON.stringify(tenantId)} in workspace ${JSON.stringify(workspaceId)}`;
}
