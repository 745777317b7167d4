import { type FigureChunk, KEYS_PER_READ, KnownFigures } from '../../../speed/known-figures.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { preparedSql } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS } from '../../store/schema/keys.ts';

const statementOf = preparedSql(
  `SELECT json_group_array(tenant_key), json_group_array(credits_used), json_group_array(request_count)
       FROM (SELECT tenant_key, credits_used, request_count FROM tenant_usage
         WHERE period_key = ? AND tenant_key > ? AND withdrawn = 0 ORDER BY tenant_key LIMIT ${KEYS_PER_READ})`,
  'raw',
);

/**
 * Reads the next batch of a period's figures: those of the tenants with numbers above `after`, without withdrawn
 * tenants.
 */
function readKnown(connection: LedgerDb, periodKey: number, after: number): FigureChunk {
  const texts = statementOf(connection).get(periodKey, after) as string[];
  const columns = texts.map((text) => JSON.parse(text) as number[]);
  const keys = columns[0]?.length ?? 0;
  const rows = new Float64Array(keys * 3);
  for (const [place, column] of columns.entries()) rows.set(column, place * keys);
  return rows;
}

/**
 * Returns the ledger's figures of a period, without those of withdrawn tenants, which the service no longer lists. The
 * figures are read in batches while the caller compares them.
 */
export function createKnownFigures(connection: LedgerDb, periodKey: number): KnownFigures {
  return new KnownFigures((after) => readKnown(connection, periodKey, after), ENTRY_KINDS);
}
