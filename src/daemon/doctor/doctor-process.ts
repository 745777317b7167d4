import { dirname } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { secretsOf } from '../../config/reading/secrets.ts';
import type { BackupConfig } from '../../config/types.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { ConfigError } from '../../core/errors.ts';
import { createRedactor } from '../../core/text/redact.ts';
import { backupTimeOf, selectNewestBackup } from '../../ledger/transfer/backup/backup.ts';
import { examineInvalidConfig, runDoctorChecks } from '../../operations/doctor/examine.ts';
import { type DoctorFinding, fail, failedWith, ok } from '../../operations/doctor/finding.ts';
import { withBucket } from '../../s3/bucket.ts';
import { runParentJob } from '../child-process.ts';
import { listNames } from '../folders/folder-commands.ts';
import { type DoctorJob, LAST_BACKUP_CHECK } from './doctor-job.ts';

/**
 * Runs the checks of `doctor` in a child process of the daemon. A folder that a setting names may be on a mount that
 * hangs, and a child process can be killed then. This file is run, never imported.
 */
async function runDoctor({ file, cwd }: DoctorJob, signal: AbortSignal): Promise<{ findings: DoctorFinding[] }> {
  const { env } = process;
  const surroundings = { env, cwd: file === null ? cwd : dirname(file) };
  try {
    const config = await loadConfig({ file: file ?? undefined, env, cwd });
    const redact = createRedactor(secretsOf(config));
    const found = await runDoctorChecks({ config, clock: systemClock, redact }, { ...surroundings, probe: false });
    const backup = config.backup === null ? [] : [await lastBackup(config.backup, systemClock, signal)];
    return { findings: redacted([...found, ...backup], redact) };
  } catch (error) {
    if (error instanceof ConfigError) return { findings: await examineInvalidConfig(error, surroundings) };
    throw error;
  }
}

/** Returns the result of the check for the newest backup. The check fails if there is no backup. */
async function lastBackup({ folder, to }: BackupConfig, clock: Clock, signal: AbortSignal): Promise<DoctorFinding> {
  const where = to === null ? folder : `s3://${to.bucket}/${to.prefix}`;
  try {
    const names =
      to === null ? listNames(folder) : await withBucket({ place: to, clock, signal }, (bucket) => bucket.names());
    const newest = selectNewestBackup(names, clock.now());
    if (newest !== null) return ok(LAST_BACKUP_CHECK, `${newest}, made ${backupTimeOf(newest)}, in ${where}`);
    return fail(LAST_BACKUP_CHECK, `${where} has no backup`, 'wait for the next slot, or run `usage-ledger backup`');
  } catch (error) {
    return failedWith(LAST_BACKUP_CHECK, error, 'correct the place in the configuration');
  }
}

function redacted(findings: readonly DoctorFinding[], redact: (text: string) => string): DoctorFinding[] {
  return findings.map(({ check, subject, status, message, remedy }) => ({
    check,
    subject: subject === null ? null : redact(subject),
    status,
    message: redact(message),
    remedy: remedy === null ? null : redact(remedy),
  }));
}

process.once('disconnect', () => process.exit());
await runParentJob(runDoctor);
