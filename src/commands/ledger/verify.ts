import type { Command } from 'commander';
import { checkMoney } from '../../billing/book/verify-money.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { LedgerConnection } from '../../ledger/file/open.ts';
import type { Fault } from '../../ledger/verify/fault.ts';
import { type VerifyReport, verifyLedgerFile } from '../../ledger/verify/verify.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, EXIT, examples, reportingCommand } from '../shared/cli-context.ts';

export function verifyCommand(cli: CliContext): Command {
  return reportingCommand('verify')
    .addHelpText('after', examples('usage-ledger verify', 'usage-ledger verify --json'))
    .action(() => cli.withContext((context) => verify(cli, context)));
}

async function verify(cli: CliContext, context: Context): Promise<void> {
  const { faults, runs, entries, keys, headDigest } = await verifyReadable(context.reader().connection);
  if (faults.length > 0) cli.exitCode = EXIT.fault;
  if (cli.json) {
    cli.printJson({
      ok: faults.length === 0,
      runs,
      entries,
      keys,
      head_digest: headDigest,
      faults: faults.map(({ check, runId, entryId, message }) => ({
        check,
        run_id: runId,
        entry_id: entryId,
        message,
      })),
    });
    return;
  }
  for (const fault of faults) cli.print(`FAULT ${fault.check}: ${placeOf(fault)}${inertText(fault.message)}`);
  const counts = `${formatInteger(runs)} published runs, ${formatInteger(entries)} entries, ${formatInteger(keys)} keys`;
  cli.print(`${faults.length === 0 ? 'no fault in' : 'checked'} ${counts}`);
  cli.print(`head digest ${headDigest ?? 'unknown'}`);
  if (faults.length > 0) cli.note('Keep the file as it is for an inquiry, and restore the ledger from a backup.');
}

/** A file so damaged that it cannot be read to the end is a finding, not a failure of the check. */
async function verifyReadable(
  connection: LedgerConnection,
): Promise<Omit<VerifyReport, 'headDigest'> & { headDigest: string | null }> {
  try {
    return await verifyLedgerFile(connection, [checkMoney]);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_CORRUPT'))) throw error;
    const fault: Fault = { check: 'integrity', runId: null, entryId: null, message: error.message };
    return { faults: [fault], runs: 0, entries: 0, keys: 0, headDigest: null };
  }
}

function placeOf({ runId, entryId }: Fault): string {
  const places = [runId, entryId === null ? null : `entry ${entryId}`].filter((place) => place !== null);
  return places.length === 0 ? '' : `${places.join(', ')}: `;
}
