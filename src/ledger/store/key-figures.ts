import type { LedgerDb } from './ledger-db.ts';
import { perConnection } from './schema/drizzle.ts';

export interface KeyFigures {
  credits: bigint;
  requests: bigint;
  withdrawn: boolean;
}

/** Returns a tenant's figures in a period; undefined for a tenant without a record. */
type FiguresReader = (periodKey: number, tenantKey: number) => KeyFigures | undefined;

/**
 * Returns a function that reads one tenant's figures in a period. The SQL is prepared once, because alert rules read
 * many tenants.
 */
export const figuresReader: (connection: LedgerDb) => FiguresReader = perConnection((connection) => {
  const read = connection
    .prepare('SELECT credits_used, request_count, withdrawn FROM tenant_usage WHERE period_key = ? AND tenant_key = ?')
    .safeIntegers()
    .raw();
  return (periodKey, tenantKey) => {
    const row = read.get(periodKey, tenantKey) as [bigint, bigint, bigint] | undefined;
    return row && { credits: row[0], requests: row[1], withdrawn: row[2] === 1n };
  };
});
