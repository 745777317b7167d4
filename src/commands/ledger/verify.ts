import type { KeyObject } from 'node:crypto';
import { resolve } from 'node:path';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { expectCheckpoints, expectHead } from '../../ledger/audit/anchor/check-anchors.ts';
import {
  formatKey,
  keyFileOf,
  MISSING_CHECKPOINTS_REMEDY,
  missingCheckpoints,
  publicKeyOf,
} from '../../ledger/audit/anchor/checkpoint-log.ts';
import { checkMoney } from '../../ledger/audit/money/verify-money.ts';
import type { Check, Fault } from '../../ledger/audit/verify/fault.ts';
import { verifyLedgerFile } from '../../ledger/audit/verify/verify.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { parseCheckpointKey, parseDigest, readCheckpoints } from '../shared/checkpoint-options.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand } from '../shared/cli-context.ts';

export function verifyCommand(cli: CliContext): CliCommand {
  return reportingCommand('verify')
    .argument('[file]', 'a ledger or backup; needs no configuration (default: the configured ledger)')
    .option('--expect-head <digest>', 'a head digest stored elsewhere that the chain must contain')
    .option('--checkpoint <file>', 'checkpoints stored elsewhere')
    .option('--checkpoint-key <key>', 'the key that must have signed them (default: the local key)')
    .examples(
      'usage-ledger verify --checkpoint /mnt/audit/checkpoints.log',
      'usage-ledger verify backup.db --expect-head 9d675846...',
    )
    .action(async (file: string | undefined, options: VerifyOptions) => {
      const { path, checkpointKeyFile = keyFileOf(path) } =
        file === undefined ? (await cli.loadConfig()).ledger : { path: resolve(cli.io.cwd, file) };
      const reader = openReader(path, file === undefined ? undefined : 'check the path of the file');
      try {
        await verify(cli, { path, connection: reader.connection, keyFile: checkpointKeyFile }, options);
      } finally {
        reader.close();
      }
    });
}

interface VerifyOptions {
  expectHead?: string;
  checkpoint?: string;
  checkpointKey?: string;
}

interface VerifiedFile {
  path: string;
  connection: LedgerDb;
  keyFile: string;
}

async function verify(cli: CliContext, file: VerifiedFile, options: VerifyOptions): Promise<void> {
  const { connection, path, keyFile } = file;
  const localKey = publicKeyOf(keyFile);
  const { checks, confirmations } = anchorChecks(cli.io.cwd, options, localKey);
  const { faults, runs, entries, keys, headDigest } = await verifyLedgerFile(connection, [checkMoney, ...checks]);
  if (faults.length > 0) cli.exitCode = EXIT.fault;
  const lost = faults.length > 0 ? null : missingCheckpoints(connection, path, keyFile);
  const key = localKey === null ? null : formatKey(localKey);
  const record = {
    ok: faults.length === 0,
    runs,
    entries,
    keys,
    head_digest: headDigest,
    checkpoint_key: key,
    checkpoints_lost: lost,
    faults: faults.map(faultRecord),
  };
  const counts = `${counted(runs, 'applied run')}, ${counted(entries, 'entry', 'entries')}, ${counted(keys, 'key')}`;
  cli.printResult(record, [
    ...faults.map((fault) => `FAULT ${fault.check}: ${faultPlace(fault)}${inertText(fault.message)}`),
    `${faults.length === 0 ? 'verified' : 'checked'} ${counts}`,
    `head digest ${headDigest ?? 'unknown'}`,
    key === null ? null : `checkpoint key ${key}`,
    lost === null ? null : `notice: ${inertText(lost)}`,
    ...(faults.some(({ check }) => check === 'anchor') ? [] : confirmations),
  ]);
  if (cli.json) return;
  if (lost !== null) cli.note(`Remedy: ${MISSING_CHECKPOINTS_REMEDY}.`);
  if (faults.length > 0) cli.note('Keep this file for the investigation, and restore the ledger from a backup.');
}

/** Builds a check for each digest or checkpoint file that the options name, with the line to print when it passes. Throws UsageError. */
function anchorChecks(
  cwd: string,
  options: VerifyOptions,
  localKey: KeyObject | null,
): { checks: Check[]; confirmations: string[] } {
  const { expectHead: digest, checkpoint: file } = options;
  const checks: Check[] = [];
  const confirmations: string[] = [];
  if (digest !== undefined) {
    checks.push(expectHead(parseDigest(digest, '--expect-head')));
    confirmations.push('the chain contains the expected head');
  }
  if (file !== undefined) {
    const lines = readCheckpoints(cwd, file);
    const key = options.checkpointKey === undefined ? localKey : parseCheckpointKey(options.checkpointKey);
    checks.push(expectCheckpoints(lines, key));
    const signed = key === null ? 'signatures not checked: no key' : 'signed';
    confirmations.push(
      `${counted(lines.length, 'checkpoint')} ${lines.length === 1 ? 'matches' : 'match'} the chain (${signed})`,
    );
  }
  return { checks, confirmations };
}

function faultPlace({ runId, entryId }: Fault): string {
  const places = [runId, entryId === null ? null : `entry ${entryId}`].filter((place) => place !== null);
  return places.length === 0 ? '' : `${places.join(', ')}: `;
}

function faultRecord({ check, runId, entryId, message }: Fault) {
  return { check, run_id: runId, entry_id: entryId, message };
}
