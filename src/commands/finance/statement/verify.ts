import { resolve } from 'node:path';
import { UsageError } from '../../../core/errors.ts';
import { inertText } from '../../../core/text/inert-text.ts';
import { readInputFile } from '../../../input-files/input-file.ts';
import type { LaterPeriodEvent } from '../../../ledger/audit/anchor/check-anchors.ts';
import {
  type Anchor,
  type AnchorSource,
  checkAgainstCheckpoints,
  checkAgainstDigest,
  checkAgainstLedger,
  judgeStatement,
  type StatementJudgement,
} from '../../../operations/statements/judge-statement.ts';
import type { StatementVerdict } from '../../../verifier/verify-statement.ts';
import { parseCheckpointKey, parseDigest, readCheckpoints } from '../../shared/checkpoint-options.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand } from '../../shared/cli-context.ts';

interface StatementVerifyOptions {
  digest?: string;
  checkpoint?: string;
  checkpointKey?: string;
  ledger?: boolean;
  consistencyOnly?: boolean;
}

export function statementVerifyCommand(cli: CliContext): CliCommand {
  return reportingCommand('verify')
    .description('Verify the statement of a closed period. Exit code 4: it is not authentic.')
    .argument('<file>', 'a statement in JSON')
    .option('--digest <digest>', 'the digest that `close` printed')
    .option('--checkpoint <file>', 'checkpoints stored elsewhere, including the one of the close')
    .option('--checkpoint-key <key>', 'the key that must have signed it, as `verify` prints it')
    .option('--ledger', 'check against the ledger, which also shows whether the close is still valid')
    .option('--consistency-only', 'check only that the file is consistent, which proves nothing about its origin')
    .examples(
      'usage-ledger statement verify acme.json --digest 9d675846...',
      'usage-ledger statement verify acme.json --checkpoint checkpoints.log --checkpoint-key MCowBQYDK2Vw...',
      'usage-ledger statement verify acme.json --ledger',
    )
    .action(async (file: string, options: StatementVerifyOptions) => {
      const sources = sourcesOf(cli, options);
      const text = readInputFile(resolve(cli.io.cwd, file), file).bytes.toString();
      const judgement = await judgeStatement(text, sources);
      if (judgement.isFault) cli.exitCode = EXIT.fault;
      printJudgement(cli, judgement);
    });
}

/**
 * Returns the sources that the options name, against which the close is checked. Throws UsageError if none is named or
 * one cannot be read.
 */
function sourcesOf(cli: CliContext, options: StatementVerifyOptions): AnchorSource[] {
  const { digest, checkpoint, checkpointKey, ledger, consistencyOnly } = options;
  const sources: AnchorSource[] = [];
  if (digest !== undefined) sources.push(digestSource(digest));
  if (checkpoint !== undefined) sources.push(checkpointSource(cli.io.cwd, checkpoint, checkpointKey));
  if (ledger === true) sources.push(ledgerSource(cli));
  if (checkpointKey !== undefined && checkpoint === undefined) {
    throw new UsageError('--checkpoint-key needs --checkpoint', 'add --checkpoint with the checkpoint file');
  }
  if (sources.length > 0 === (consistencyOnly === true)) {
    throw new UsageError(
      consistencyOnly === true
        ? '--consistency-only conflicts with the other options'
        : 'a statement alone proves nothing: its author could have invented all of it',
      'add the digest of the close (--digest), a checkpoint (--checkpoint, --checkpoint-key) or --ledger; --consistency-only authenticates nothing',
    );
  }
  return sources;
}

function digestSource(digest: string): AnchorSource {
  const expected = parseDigest(digest, '--digest');
  return (closeDigest) => checkAgainstDigest(closeDigest, expected);
}

function checkpointSource(cwd: string, file: string, checkpointKey: string | undefined): AnchorSource {
  if (checkpointKey === undefined) {
    throw new UsageError('--checkpoint needs --checkpoint-key', 'add the key that `usage-ledger verify` prints');
  }
  const key = parseCheckpointKey(checkpointKey);
  const lines = readCheckpoints(cwd, file);
  return (closeDigest) => checkAgainstCheckpoints(closeDigest, lines, key);
}

function ledgerSource(cli: CliContext): AnchorSource {
  return (closeDigest) => cli.withContext((context) => checkAgainstLedger(closeDigest, context.reader().connection));
}

function anchorWords({ kind, holds, isKnown }: Anchor): string {
  if (kind === 'digest') return `The digest of the close ${holds ? 'matches' : 'does not match'} --digest.`;
  if (kind === 'ledger') return `The ledger ${holds ? 'has' : 'does not have'} this close.`;
  if (!isKnown) return 'No checkpoint matches the close.';
  return `The checkpoint of the close is ${holds ? '' : 'not '}signed by --checkpoint-key.`;
}

function printJudgement(cli: CliContext, judgement: StatementJudgement): void {
  const { verdict, anchors, isAuthentic, supersededBy } = judgement;
  if (cli.json) {
    cli.printJson({
      authentic: isAuthentic,
      superseded_by: supersededBy,
      anchors: anchors.map(({ kind, holds }) => ({ kind, holds })),
      agrees: verdict.isConsistent,
      ...(verdict.isConsistent ? statementFacts(verdict) : { reason: verdict.reason }),
    });
    return;
  }
  if (!verdict.isConsistent) {
    cli.print(`not verified: ${inertText(verdict.reason)}`);
    return;
  }
  const { workspace_id, period, as_of, tenants, tenants_in_period: all } = verdict.statement;
  const subject = `${inertText(workspace_id)}, ${period}`;
  const coverage = all === null ? "one tenant's statement" : `${tenants.length} of ${all} tenants`;
  const closed = `${coverage}, closed at ${inertText(String(as_of))}`;
  if (anchors.length === 0) {
    cli.print(`${subject}: consistent (${closed})`);
    cli.print('Nothing is authenticated: the author of the file could have invented all of it.');
    cli.print(`close digest ${verdict.closeDigest}`);
    return;
  }
  const state = !isAuthentic ? 'NOT authentic' : supersededBy === null ? 'authentic' : 'superseded';
  cli.print(`${subject}: ${state} (${closed})`);
  for (const anchor of anchors) cli.print(anchorWords(anchor));
  if (supersededBy !== null) cli.print(supersededWords(supersededBy));
  else if (isAuthentic && !anchors.some(({ kind }) => kind === 'ledger')) {
    cli.note('Add --ledger to check whether the period was reopened since.');
  }
}

function statementFacts({ closeDigest, statement }: Extract<StatementVerdict, { isConsistent: true }>) {
  return {
    workspace_id: statement.workspace_id,
    period: statement.period,
    closed_at: statement.as_of,
    close_digest: closeDigest,
    tenants: statement.tenants.length,
    tenants_in_period: statement.tenants_in_period,
  };
}

function supersededWords({ action, at, actor }: LaterPeriodEvent): string {
  const event = action === 'reopen' ? 'reopened' : 'closed again';
  return `The period was ${event} at ${at} by ${inertText(actor)}: this statement is no longer valid.`;
}
