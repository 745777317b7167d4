import { isDeepStrictEqual } from 'node:util';
import { bySpecificity } from '../../../core/text/patterns.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';

/** A monthly budget in credits or money, for a tenant or for the whole workspace. */
export interface StoredBudget {
  /** A tenant id in which `*` matches any text; null: the budget is for the whole workspace. */
  tenant: string | null;
  credits: bigint | null;
  money?: { amountMinor: bigint; currency: string } | undefined;
}

/**
 * Stores the budgets of a workspace in the ledger, so that SQL queries can read them. Writes nothing when they are
 * unchanged.
 */
export function storeBudgets(connection: LedgerDb, workspaceKey: number, given: readonly StoredBudget[]): void {
  const rows = given
    .toSorted(bySpecificity(({ tenant }) => tenant ?? ''))
    .map(({ tenant, credits, money }, place) => [
      BigInt(place),
      tenant && globOf(tenant),
      credits,
      money?.amountMinor ?? null,
      money?.currency ?? null,
    ]);
  const kept = connection
    .prepare(
      'SELECT place, tenant_glob, credits, amount_minor, currency FROM budgets WHERE workspace_key = ? ORDER BY place',
    )
    .safeIntegers()
    .raw()
    .all(workspaceKey);
  if (isDeepStrictEqual(kept, rows)) return;
  connection.prepare('DELETE FROM budgets WHERE workspace_key = ?').run(workspaceKey);
  const insert = connection.prepare('INSERT INTO budgets VALUES (?, ?, ?, ?, ?, ?)');
  for (const row of rows) insert.run(workspaceKey, ...row);
}

/** Converts a budget's pattern, in which only `*` is special, to SQLite's GLOB by escaping GLOB's other wildcards. */
function globOf(pattern: string): string {
  return pattern.replaceAll(/[?[]/g, '[$&]');
}
