import type { RateCardText } from '../../../billing/rates/rate-card-schema.ts';
import { matchesPattern } from '../../../core/text/patterns.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { silences } from '../../store/schema/alert-tables.ts';
import { rateCards } from '../../store/schema/billing-tables.ts';
import { and, eq, isNull } from '../../store/schema/drizzle.ts';
import { tenants } from '../../store/schema/workspace-tables.ts';

/** A workspace in a ledger, by its name and its key there. */
interface PlacedWorkspace {
  workspaceId: string;
  workspaceKey: number;
}

/**
 * What a ledger says of all its workspaces goes along with one of them as far as it can be about that one: others' tenants
 * stand in prices and silences by name.
 */
export function whatConcerns(
  origin: LedgerConnection,
  workspace: PlacedWorkspace,
): { cards: string; silences: string } {
  const concerns = aboutTenantsOf(origin, workspace.workspaceKey);
  const cards = query(origin).select().from(rateCards).all();
  const ofAll = query(origin).select().from(silences).where(isNull(silences.workspaceKey)).all();
  return {
    cards: JSON.stringify(cards.filter((card) => isPriceOf(workspace, concerns, card)).map(({ cardKey }) => cardKey)),
    silences: JSON.stringify(ofAll.filter(({ tenant }) => concerns(tenant)).map(({ silenceKey }) => silenceKey)),
  };
}

/** The cards in force in `ledger` that can price the workspace, as it is in `origin`: their digests and what they say. */
export function pricesOf(
  ledger: LedgerConnection,
  origin: LedgerConnection,
  workspace: PlacedWorkspace,
): { digest: string; card: RateCardText }[] {
  const concerns = aboutTenantsOf(origin, workspace.workspaceKey);
  const inForce = query(ledger).select().from(rateCards).where(isNull(rateCards.retiredAfterSeq)).all();
  return inForce
    .filter((card) => isPriceOf(workspace, concerns, card))
    .map(({ digest, definition }) => ({ digest, card: JSON.parse(definition) as RateCardText }));
}

function isPriceOf(
  { workspaceId }: PlacedWorkspace,
  concerns: (pattern: string) => boolean,
  { definition }: { definition: string },
): boolean {
  const { workspace, tenant } = JSON.parse(definition) as RateCardText;
  return (workspace ?? workspaceId) === workspaceId && (tenant === undefined || concerns(tenant));
}

/** Whether a pattern is one for every tenant, or fits one that the workspace has. */
function aboutTenantsOf(origin: LedgerConnection, workspaceKey: number): (pattern: string) => boolean {
  const all = origin.prepare('SELECT tenant_id FROM tenants WHERE workspace_key = ?').pluck();
  const named = (tenantId: string) =>
    query(origin)
      .select()
      .from(tenants)
      .where(and(eq(tenants.workspaceKey, workspaceKey), eq(tenants.tenantId, tenantId)))
      .get();
  return (pattern) => {
    if (pattern === '*') return true;
    if (!pattern.includes('*')) return named(pattern) !== undefined;
    // One at a time: a million ids do not belong into memory.
    for (const tenantId of all.iterate(workspaceKey)) if (matchesPattern(pattern, String(tenantId))) return true;
    return false;
  };
}
