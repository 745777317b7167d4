import { packError } from '../../core/crossing-errors.ts';
import { AppError } from '../../core/errors.ts';
import { type BackupReport, backupLedger } from '../../ledger/transfer/backup/backup.ts';
import type { ChildAnswer } from '../child-answer.ts';

/** What this process says before it ends. */
type BackupReply = ChildAnswer<{ report: BackupReport }>;

/**
 * Makes one backup: the daemon starts this as a process of its own, which can be ended at any moment and takes nothing
 * down with it when a damaged file crashes SQLite. This file is started, never imported.
 */
async function main(ledgerPath: string, target: string): Promise<void> {
  const stop = new AbortController();
  process.once('disconnect', () => stop.abort(new AppError('cancelled', 'the daemon is gone')));
  const reply = await backupLedger({ ledgerPath, target, signal: stop.signal }).then(
    (report): BackupReply => ({ report }),
    (error: unknown): BackupReply => ({ error: packError(error) }),
  );
  if (process.connected) process.send?.(reply, () => process.disconnect());
}

const [ledgerPath = '', target = ''] = process.argv.slice(2);
await main(ledgerPath, target);
