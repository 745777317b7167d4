import { type BackupReport, backupLedger, backupName } from '../../ledger/transfer/backup/backup.ts';
import type { Context } from '../../wiring/context.ts';

export interface BackupRequest {
  /** An absolute path, `s3://bucket/prefix` or `s3://bucket/name.db`. */
  target: string;
  /** True if an existing file or object may be replaced. */
  force: boolean;
  signal: AbortSignal;
}

/**
 * Makes a verified backup of the ledger. The API does not offer this, because the daemon makes backups itself, by the
 * schedule and to the place in its settings.
 */
export async function makeBackup(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  { target, force, signal }: BackupRequest,
): Promise<BackupReport> {
  const { path: ledgerPath } = config.ledger;
  if (!target.startsWith('s3://')) return backupLedger({ ledgerPath, target, force, signal });
  const { parseBackupAddress, backupToBucket } = await import('../../s3/bucket-backup.ts');
  const { place, name } = parseBackupAddress(target, config.s3);
  return backupToBucket({
    ledgerPath,
    connection: { place, clock, signal },
    name: name ?? backupName(clock.now()),
    force,
    workPrefix: `${ledgerPath}.uploading-`,
  });
}
