import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createSystemAlertEnder } from '../../alerts/end-alerts.ts';
import { withWorkFolder } from '../../ledger/store/file/work-folder.ts';
import { restoreLedger } from '../../ledger/transfer/backup/restore.ts';
import type { Context } from '../../wiring/context.ts';

export interface RestoreRequest {
  /** An absolute path, `s3://bucket/name.db`, or `s3://bucket/prefix` for the newest backup there. */
  from: string;
  /**
   * True if the restored ledger gets a new id, so that it and the original ledger can both continue, each on its own
   * machine.
   */
  asNew: boolean;
  /** True if the backup may also replace a ledger that has another id than the backup. */
  replaceOther: boolean;
  signal: AbortSignal;
}

/**
 * Restores the ledger from a verified backup, and keeps the previous file. The API does not offer this, because a
 * running daemon has the ledger open.
 */
export async function restoreBackup(
  context: Context,
  { from, asNew, replaceOther, signal }: RestoreRequest,
): Promise<RestoreRecord> {
  const { version, config, clock } = context;
  const ledgerPath = config.ledger.path;
  const nowMs = clock.now();
  const identity = asNew ? { newLedgerId: context.newLedgerId(), leave: createSystemAlertEnder(nowMs) } : null;
  const target = { ledgerPath, replaceOther, version, nowMs, signal };
  const request = { ...target, ...(identity === null ? {} : { asNew: identity }) };
  const { backup, report } = from.startsWith('s3://')
    ? await withFetched(context, { address: from, signal }, async (file, source) => {
        return { backup: source, report: await restoreLedger({ ...request, file, source }) };
      })
    : { backup: from, report: await restoreLedger({ ...request, file: from }) };
  const { runs, entries, keys, headDigest, outdated, replaced } = report;
  return {
    ledger: ledgerPath,
    new_ledger_id: identity?.newLedgerId ?? null,
    backup,
    runs,
    entries,
    keys,
    head_digest: headDigest,
    outdated,
    replaced: replaced === null ? null : { path: replaced.path, head_digest: replaced.headDigest },
  };
}

export interface RestoreRecord {
  ledger: string;
  new_ledger_id: string | null;
  backup: string;
  runs: number;
  entries: number;
  keys: number;
  head_digest: string;
  /** True if the backup has the schema of an older version; the next start migrates it. */
  outdated: boolean;
  replaced: { path: string; head_digest: string | null } | null;
}

async function withFetched<T>(
  { config, clock }: Context,
  { address, signal }: { address: string; signal: AbortSignal },
  work: (file: string, source: string) => Promise<T>,
): Promise<T> {
  const { parseBackupAddress, downloadBackup } = await import('../../s3/bucket-backup.ts');
  const { place, name } = parseBackupAddress(address, config.s3);
  const { path: ledgerPath } = config.ledger;
  mkdirSync(dirname(ledgerPath), { recursive: true, mode: 0o700 });
  return withWorkFolder(`${ledgerPath}.downloading-`, async (folder) => {
    const file = join(folder, 'backup.db');
    const source = await downloadBackup({ place, clock, signal }, name, file);
    return work(file, source);
  });
}
