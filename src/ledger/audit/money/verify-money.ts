import { cardsAt, cardsInForce, type StoredCard } from '../../journal/charges/card-store.ts';
import { buildTree } from '../../journal/charges/commit-close.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { charges, closeCommitments } from '../../store/schema/billing-tables.ts';
import { asc, eq } from '../../store/schema/drizzle.ts';
import { periodOfKey } from '../../store/schema/keys.ts';
import { periods, workspaces } from '../../store/schema/workspace-tables.ts';
import { FAULTS_A_CHECK, type Fault } from '../verify/fault.ts';
import { cardFor, type OwedLine, owedLines, sumOf } from './owed.ts';
import { checkSums, strayCorrections } from './verify-corrections.ts';

interface PricedPeriod {
  periodKey: number;
  workspaceId: string;
  closedSeq: number | null;
}

/**
 * Works out anew what is owed: the charge of each tenant in each period by the cards that hold for it, the sum of all documents
 * about it, and the tree that each close has committed to. A fault names the tenant, or the close.
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
  for (const period of priced) {
    const cards = cardsOf(connection, period);
    for (const message of strangeCharges(connection, period, cards)) add(message);
    for (const { tenantId, message } of checkSums(connection, { ...period, cards })) {
      add(`${whereOf(tenantId, period)} ${message}`);
    }
  }
  for (const message of lostCharges(connection)) add(message);
  for (const message of strayCorrections(connection)) add(message);
  for (const period of priced) for (const message of strangeTree(connection, period)) add(message);
  return faults;
}

/** The cards of a period of a workspace: those of its close, or while it is not closed those in force. */
function cardsOf(connection: LedgerConnection, { periodKey, workspaceId, closedSeq }: PricedPeriod): StoredCard[] {
  const period = periodOfKey(periodKey);
  const cards = closedSeq === null ? cardsInForce(connection) : cardsAt(connection, closedSeq);
  return cards.filter(({ workspace, fromPeriod, toPeriod }) => {
    return (workspace ?? workspaceId) === workspaceId && fromPeriod <= period && (toPeriod ?? period) >= period;
  });
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

/** What a tenant without a record in the period is charged. */
const NOTHING: readonly OwedLine[] = [['usage', 1, 0n, 1n, '0', 0n]];

function* strangeCharges(
  connection: LedgerConnection,
  period: PricedPeriod,
  cards: readonly StoredCard[],
): Generator<string> {
  const { periodKey, closedSeq } = period;
  const charged = query(connection).select().from(charges).where(eq(charges.periodKey, periodKey)).limit(1).get();
  if (cards.length === 0 && charged === undefined) return;
  const rows = connection
    .prepare(
      `SELECT t.tenant_id, u.credits_used, u.withdrawn, c.card_key, c.credits_used, c.amount_minor,
         (SELECT group_concat(line, '') FROM (
            SELECT json_array(1, 'usage', c.tier, c.credits_used, c.unit_credits, c.unit_price, c.amount_minor) AS line
            WHERE coalesce(c.tier, c.unit_credits, c.unit_price) IS NOT NULL
            UNION ALL SELECT * FROM (
            SELECT json_array(line_number, kind, tier, credits, unit_credits, unit_price, amount_minor)
            FROM charge_lines l WHERE l.period_key = u.period_key AND l.tenant_key = u.tenant_key ORDER BY line_number)))
       FROM ${closedSeq === null ? 'tenant_usage' : 'closed_usage'} u
       JOIN tenants t USING (tenant_key)
       LEFT JOIN charges c ON c.period_key = u.period_key AND c.tenant_key = u.tenant_key
       WHERE u.period_key = ?`,
    )
    .safeIntegers()
    .raw()
    .iterate(periodKey) as IterableIterator<ChargedRow>;
  for (const [tenantId, credits, withdrawn, cardKey, chargedCredits, amountMinor, lines] of rows) {
    const card = cardFor(cards, tenantId);
    const owed = card === null ? null : withdrawn === 0n ? owedLines(card, credits) : NOTHING;
    const isRight =
      cardKey === (card === null ? null : BigInt(card.cardKey)) &&
      chargedCredits === (card === null ? null : credits) &&
      amountMinor === (owed === null ? null : sumOf(owed)) &&
      lines === (owed === null ? null : textOf(owed));
    if (!isRight) yield `${whereOf(tenantId, period)} is not charged what its rate card says`;
  }
}

/** As SQLite's json_array writes the lines. */
function textOf(lines: readonly OwedLine[]): string {
  const texts = lines.map(([kind, tier, credits, unitCredits, unitPrice, amountMinor], index) => {
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
  const tree = buildTree(connection, { periodKey, closedSeq }, committed.salt);
  if (tree.leaves === committed.leaves && tree.root === committed.root) return;
  const close = `the close of ${periodOfKey(periodKey)} in workspace ${JSON.stringify(workspaceId)}`;
  yield `${close} has committed to other statements than those that stand here`;
}

function whereOf(tenantId: string, { periodKey, workspaceId }: Omit<PricedPeriod, 'closedSeq'>): string {
  return `${periodOfKey(periodKey)} of tenant ${JSON.stringify(tenantId)} in workspace ${JSON.stringify(workspaceId)}`;
}
