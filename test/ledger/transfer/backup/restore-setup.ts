import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { openForWriting } from '../../../../src/ledger/store/file/open.ts';
import { migrateLedger } from '../../../../src/ledger/store/schema/migrate.ts';
import { backupLedger } from '../../../../src/ledger/transfer/backup/backup.ts';
import { type RestoreReport, restoreLedger } from '../../../../src/ledger/transfer/backup/restore.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const RESTORER = fileURLToPath(new URL('./restore-process.mjs', import.meta.url));
export const signal = new AbortController().signal;

interface Prepared {
  ledgerPath: string;
  backup: string;
  /** Head digests of the backup and of the ledger, which went on after it. */
  heads: { backup: string; ledger: string };
}

/** A backup of a ledger, and the ledger, closed, with one more run. */
export async function prepare(records = 3): Promise<Prepared> {
  const { path: ledgerPath, connection } = openLedger();
  await publish(
    connection,
    Array.from({ length: records }, (_, index) => usageRecord(`tenant-${index}`, 100 + index)),
  );
  const backup = join(temporaryFolder(), 'backup.db');
  const { headDigest } = await backupLedger({ ledgerPath, target: backup, signal });
  await publish(connection, [usageRecord('tenant-0', 500)]);
  const ledger = verifyLedger(connection).headDigest;
  connection.close();
  expect(ledger).not.toBe(headDigest);
  return { ledgerPath, backup, heads: { backup: headDigest, ledger } };
}

export function restore(file: string, ledgerPath: string): Promise<RestoreReport> {
  return restoreLedger({ file, ledgerPath, version: '0.0.0', nowMs: NOON, signal });
}

/** The head digest of a file that must pass every check, opened as the daemon would. */
export function headOf(path: string): string {
  const connection = openForWriting(path);
  try {
    migrateLedger(connection, path, '0.0.0', NOON);
    const { faults, headDigest } = verifyLedger(connection);
    expect(faults).toEqual([]);
    return headDigest;
  } finally {
    connection.close();
  }
}

export function forkRestore(...args: string[]): ChildProcess {
  const child = fork(RESTORER, args, { execArgv: [] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}
