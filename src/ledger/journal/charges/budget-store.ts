import { isDeepStrictEqual } from 'node:util';
import { bySpecificity } from '../../../core/text/patterns.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';

/** A budget of a month, of credits or of money; without a tenant one of the whole workspace. */
export interface GivenBudget {
  /** An id, in which `*` stands for anything. */
  tenant: string | null;
  credits: bigint | null;
  money?: { amountMinor: bigint; currency: string } | undefined;
}

/** Keeps the budgets of a workspace for those who ask with SQL. Writes nothing where they are as they were. */
export function keepBudgets(connection: LedgerDb, workspaceKey: number, given: readonly GivenBudget[]): void {
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

/** Only the star has a meaning in a pattern of ours. */
function globOf(pattern: string): string {
  return pattern.replaceAll(/[?[]/g, '[$&]');
}
