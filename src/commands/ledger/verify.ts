import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Config } from '../../config/types.ts';
import { messageOf, UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { expectCheckpoints, expectHead } from '../../ledger/audit/anchor/check-anchors.ts';
import { keyFileOf, ownVerifier } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { formatVerifier, type NoteVerifier, parseNotes, parseVerifier } from '../../ledger/audit/anchor/signed-note.ts';
import { checkMoney } from '../../ledger/audit/money/verify-money.ts';
import type { Check, Fault } from '../../ledger/audit/verify/fault.ts';
import { type VerifyReport, verifyLedgerFile } from '../../ledger/audit/verify/verify.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, EXIT, examples, reportingCommand } from '../shared/cli-context.ts';
import { faultRecord, placeOf } from './fault-words.ts';

export function verifyCommand(cli: CliContext): Command {
  return reportingCommand('verify')
    .option('--expect-head <digest>', 'a head digest that was kept elsewhere: the chain must still hold it')
    .option('--checkpoint <file>', 'checkpoints that were kept elsewhere, such as a copy of checkpoints.log')
    .option(
      '--checkpoint-key <key>',
      'who must have signed them, NAME+HASH+KEY (default: the key of this ledger)',
      (key: string, before: string[] = []) => [...before, key],
    )
    .addHelpText(
      'after',
      examples(
        'usage-ledger verify',
        'usage-ledger verify --json',
        'usage-ledger verify --checkpoint /mnt/audit/checkpoints.log',
      ),
    )
    .action((options: VerifyOptions) => cli.withContext((context) => verify(cli, context, options)));
}

interface VerifyOptions {
  expectHead?: string;
  checkpoint?: string;
  checkpointKey?: string[];
}

async function verify(cli: CliContext, context: Context, options: VerifyOptions): Promise<void> {
  const { connection } = context.reader();
  const ownKey = ownKeyOf(context);
  const { checks, said } = anchorsOf(options, ownKey);
  const { faults, runs, entries, keys, headDigest } = await verifyReadable(connection, [checkMoney, ...checks]);
  if (faults.length > 0) cli.exitCode = EXIT.fault;
  if (cli.json) {
    cli.printJson({
      ok: faults.length === 0,
      runs,
      entries,
      keys,
      head_digest: headDigest,
      checkpoint_key: ownKey === null ? null : formatVerifier(ownKey),
      faults: faults.map(faultRecord),
    });
    return;
  }
  for (const fault of faults) cli.print(`FAULT ${fault.check}: ${placeOf(fault)}${inertText(fault.message)}`);
  const counts = `${formatInteger(runs)} applied runs, ${formatInteger(entries)} entries, ${formatInteger(keys)} keys`;
  cli.print(`${faults.length === 0 ? 'no fault in' : 'checked'} ${counts}`);
  cli.print(`head digest ${headDigest ?? 'unknown'}`);
  if (ownKey !== null) cli.print(`checkpoint key ${formatVerifier(ownKey)}`);
  if (!faults.some(({ check }) => check === 'anchor')) for (const line of said) cli.print(line);
  if (faults.length > 0) cli.note('Keep the file as it is for an inquiry, and restore the ledger from a backup.');
}

/** What was kept elsewhere, as checks, and what may be said when they find nothing. Throws UsageError for what cannot be read. */
function anchorsOf(options: VerifyOptions, ownKey: NoteVerifier | null): { checks: Check[]; said: string[] } {
  const { expectHead: digest, checkpoint: file } = options;
  const checks: Check[] = [];
  const said: string[] = [];
  if (digest !== undefined) {
    if (!/^[0-9a-f]{64}$/.test(digest)) {
      throw new UsageError('--expect-head is no digest', 'give the 64 hexadecimal digits that verify has said');
    }
    checks.push(expectHead(digest));
    said.push('the expected head is a link of the chain');
  }
  if (file !== undefined) {
    const notes = parseNotes(readCheckpoints(file));
    if (notes === null || notes.length === 0) {
      throw new UsageError(
        `${file} holds no checkpoints`,
        'give a copy of checkpoints.log, or one checkpoint out of it',
      );
    }
    const verifier = keysOf(options).at(-1) ?? ownKey;
    checks.push(expectCheckpoints(notes, verifier));
    const signed = verifier === null ? 'signatures not checked, there is no key' : 'signed';
    said.push(`${formatInteger(notes.length)} checkpoints agree with the chain (${signed})`);
  }
  return { checks, said };
}

function keysOf({ checkpointKey = [] }: VerifyOptions): NoteVerifier[] {
  return checkpointKey.map((text) => {
    const key = parseVerifier(text);
    if (key === null) throw new UsageError('--checkpoint-key is no key', 'give the NAME+HASH+KEY that verify has said');
    return key;
  });
}

function readCheckpoints(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const reason = messageOf(error);
    throw new UsageError(`${file} cannot be read: ${reason}`, 'give the path of a file of checkpoints');
  }
}

function ownKeyOf(context: Context): NoteVerifier | null {
  return ownVerifier(keyFileFor(context.config), ledgerId(context.reader().connection));
}

function keyFileFor({ ledger }: Config): string {
  return ledger.checkpointKeyFile ?? keyFileOf(ledger.path);
}

/** A file so damaged that it cannot be read to the end is a finding, not a failure of the check. */
async function verifyReadable(
  connection: LedgerConnection,
  checks: readonly Check[],
): Promise<Omit<VerifyReport, 'headDigest'> & { headDigest: string | null }> {
  try {
    return await verifyLedgerFile(connection, checks);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_CORRUPT'))) throw error;
    const fault: Fault = { check: 'integrity', runId: null, entryId: null, message: error.message };
    return { faults: [fault], runs: 0, entries: 0, keys: 0, headDigest: null };
  }
}
