import { statementOfTenant } from '../../billing/statement/document.ts';
import { nextTurn } from '../../core/clock.ts';
import { streamStatement } from '../../ledger/journal/charges/read-statement.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import { pageAssets } from '../../reports/statement/page-assets.ts';
import { statementFileName } from '../../reports/statement/statement-files.ts';
import { tenantPage } from '../../reports/statement/tenant-page.tsx';
import { ZipWriter } from '../../reports/xlsx/zip-writer.ts';
import type { Context } from '../../wiring/context.ts';
import { unknownPeriod } from '../workspace-choice.ts';

/**
 * Writes a ZIP file with the statement of each tenant for a month, as a page that can be sent to the tenant. Each
 * workspace has a folder. The bytes are passed to `write` in pieces. All statements are read in one transaction.
 * Returns the number of statements. Throws AppError `unknown_period` if the ledger has no data for the month.
 */
export async function writeStatementPages(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  period: string,
  write: (bytes: Uint8Array) => Promise<void> | void,
): Promise<number> {
  const reader = openReader(config.ledger.path);
  try {
    reader.connection.exec('BEGIN');
    const zip = new ZipWriter(write);
    let statements = 0;
    for (const { id: workspaceId } of config.workspaces) {
      const stream = streamStatement(reader.connection, { workspaceId, period, nowMs: clock.now() });
      if (stream === null) continue;
      const { begin, end, tenants } = stream;
      for (const tenant of tenants()) {
        const page = tenantPage(statementOfTenant(begin, tenant, end), pageAssets());
        await zip.add(`${statementFileName(workspaceId, tenant.tenant_id)}.html`, [page]);
        statements += 1;
        await nextTurn();
      }
    }
    if (statements === 0) throw unknownPeriod(period, config.workspaces.map(({ id }) => id).join(', '));
    await zip.end();
    return statements;
  } finally {
    reader.close();
  }
}
