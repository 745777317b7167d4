import { resolve } from 'node:path';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import type { ExternalAnchors } from '../../ledger/audit/anchor/check-anchors.ts';
import { checkpointKeyPath, MISSING_CHECKPOINTS_REMEDY } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { verifyFile } from '../../operations/system/verify-ledger.ts';
import { parseCheckpointKey, parseDigest, readCheckpoints } from '../shared/checkpoint-options.ts';
import { type CliCommand, type CliContext, EXIT, proseLines, reportingCommand } from '../shared/cli-context.ts';

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
      const { path, checkpointKeyFile = checkpointKeyPath(path) } =
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
  const anchors = readAnchors(cli.io.cwd, options);
  const { record, isSigned } = await verifyFile(file, anchors);
  const { faults, runs, entries, keys, head_digest, checkpoint_key: key, checkpoints_lost: lost } = record;
  if (!record.ok) cli.exitCode = EXIT.fault;
  const counts = `${counted(runs, 'applied run')}, ${counted(entries, 'entry', 'entries')}, ${counted(keys, 'key')}`;
  cli.printResult(record, [
    ...faults.flatMap((fault) => {
      const words = `FAULT ${fault.check}: ${faultPlace(fault)}${inertText(fault.message)}`;
      return proseLines(words, cli.tableOptions.width, 2);
    }),
    `${record.ok ? 'verified' : 'checked'} ${counts}`,
    `head digest ${head_digest ?? 'unknown'}`,
    key === null ? null : `checkpoint key ${key}`,
    lost === null ? null : `notice: ${inertText(lost)}`,
    ...(faults.some(({ check }) => check === 'anchor') ? [] : confirmationsOf(anchors, isSigned)),
  ]);
  if (cli.json) return;
  if (lost !== null) cli.note(`Remedy: ${MISSING_CHECKPOINTS_REMEDY}.`);
  if (!record.ok) cli.note('Keep this file for the investigation, and restore the ledger from a backup.');
}

/** Reads the digests and checkpoints that the options name. Throws UsageError if one is invalid. */
function readAnchors(cwd: string, { expectHead, checkpoint, checkpointKey }: VerifyOptions): ExternalAnchors {
  return {
    head: expectHead === undefined ? undefined : parseDigest(expectHead, '--expect-head'),
    checkpoints: checkpoint === undefined ? undefined : readCheckpoints(cwd, checkpoint),
    checkpointKey: checkpointKey === undefined ? undefined : parseCheckpointKey(checkpointKey),
  };
}

/** Returns lines that confirm what the ledger agrees with: the expected head and the checkpoints. */
function confirmationsOf({ head, checkpoints }: ExternalAnchors, isSigned: boolean): string[] {
  const lines = head === undefined ? [] : ['the chain contains the expected head'];
  if (checkpoints === undefined) return lines;
  const count = checkpoints.length;
  const signed = isSigned ? 'signed' : 'signatures not checked: no key';
  return [...lines, `${counted(count, 'checkpoint')} ${count === 1 ? 'matches' : 'match'} the chain (${signed})`];
}

function faultPlace({ run_id, entry_id }: { run_id: string | null; entry_id: number | null }): string {
  const places = [run_id, entry_id === null ? null : `entry ${entry_id}`].filter((place) => place !== null);
  return places.length === 0 ? '' : `${places.join(', ')}: `;
}
