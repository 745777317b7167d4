import { UsageError } from '../../core/errors.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { workspaceKeyOf } from '../../ledger/store/schema/keys.ts';
import type { CopiedTableTotals, CopyDifference } from '../../publish/compare-copy.ts';
import type { Context } from '../../wiring/context.ts';

/** A part of a table that differs between the ledger (`here`) and the copy in Postgres (`there`). */
export interface NamedDifference {
  table: string;
  /** The workspace of the rows; null for rows about the whole ledger. */
  workspace_id: string | null;
  period: string | null;
  here: CopiedTableTotals | null;
  there: CopiedTableTotals | null;
}

export interface PublishRecord {
  /** The copy's position in the chain before (`from`) and after (`to`) publishing. */
  from: number;
  to: number;
  head_digest: string;
  rows: number;
  seconds: number;
  /**
   * If this ledger does not have the last published link of the chain, a sentence about the two chains; null otherwise.
   */
  parted: string | null;
  differences: NamedDifference[];
}

/**
 * Brings the copy in Postgres up to date. `compare: check` then compares it with the ledger; `repair` also sends again
 * what differs. The API does not offer this, because the daemon publishes after each change. Throws UsageError if the
 * configuration has no `publish:`.
 */
export async function publishCopy(
  context: Pick<Context, 'config' | 'clock' | 'reader'>,
  { compare, signal }: { compare: 'check' | 'repair' | null; signal: AbortSignal },
): Promise<PublishRecord> {
  const { publish: target, ledger } = context.config;
  if (target === null) {
    throw new UsageError('the configuration has no `publish:`', 'set publish.url to the address of Postgres');
  }
  const { publishLedger } = await import('../../publish/publish-ledger.ts');
  const { connection } = context.reader();
  const started = context.clock.monotonic();
  const report = await publishLedger({
    target,
    ledgerPath: ledger.path,
    nowMs: context.clock.now(),
    signal,
    ...(compare === null ? {} : { compare }),
  });
  const seconds = (context.clock.monotonic() - started) / 1000;
  return {
    from: report.from,
    to: report.to,
    head_digest: report.headDigest,
    rows: report.rows,
    seconds: Number(seconds.toFixed(3)),
    parted: report.divergence,
    differences: report.differences.map((difference) => nameDifference(connection, difference)),
  };
}

function nameDifference(
  connection: LedgerDb,
  { table, unit, inLedger: here, inPostgres: there }: CopyDifference,
): NamedDifference {
  const [workspaceKey = 0, periodKey = 0] = unit.split(':').map(Number);
  const nameOf = (sql: string, key: number): string | null =>
    (connection.prepare(sql).pluck().get(key) as string | undefined) ?? null;
  return {
    table,
    workspace_id: nameOf(
      'SELECT workspace_id FROM workspaces WHERE workspace_key = ?',
      workspaceKey === 0 ? workspaceKeyOf(periodKey) : workspaceKey,
    ),
    period: nameOf('SELECT period FROM periods WHERE period_key = ?', periodKey),
    here,
    there,
  };
}
