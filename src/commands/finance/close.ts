import { dirname, resolve } from 'node:path';
import { AppError, summarizeError, UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { requireKind } from '../../input-files/file-content.ts';
import { readInputFile } from '../../input-files/input-file.ts';
import type { PeriodEvent } from '../../ledger/journal/close/close-period.ts';
import { describeSkipped, type SkippedMonth, skippedMonths } from '../../ledger/journal/close/closes-in-force.ts';
import { planMonth, verifyBooks } from '../../operations/months/plan-month.ts';
import { chooseWorkspace } from '../../operations/workspace-choice.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import type { Blocker, MonthEndWorkspace } from '../../reports/queries/month-end-record.ts';
import type { Context } from '../../wiring/context.ts';
import type { Recorded } from '../../writer/session.ts';
import { type CliCommand, type CliContext, EXIT, printProse, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { BY_OPTION } from '../shared/options.ts';

interface ReopenOptions {
  workspace?: string;
  by?: string;
  note?: string;
}

interface CloseOptions extends ReopenOptions {
  all?: boolean;
  force?: boolean;
  acceptChange?: string[];
}

export function closeCommand(cli: CliContext): CliCommand {
  return reportingCommand('close')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .option('--all', 'every workspace that `month-end` reports as ready; exit code 3 when some are blocked')
    .option(...BY_OPTION)
    .option('--note <text>', 'why, or a reference', '')
    .option('--accept-change <id...>', 'close these workspaces also above close.max_change; needs --note')
    .option('--force', 'close despite blockers, which are recorded')
    .examples(
      'usage-ledger close 2026-02 --workspace ws-123 --by "Ada Byron" --note "invoice run 12"',
      'usage-ledger close 2026-02 --all --note "invoice run 12" --accept-change ws-123',
    )
    .action((text: string, options: CloseOptions) =>
      cli.withContext(async (context) => {
        const period = parsePeriod(text);
        const accepted = (options.acceptChange ?? []).map((id) => chooseWorkspace(context.config, id).id);
        if (accepted.length > 0 && !options.note?.trim()) {
          throw new UsageError(
            '--accept-change needs --note',
            'add --note with the reason for the change: auditors will ask',
          );
        }
        if (options.all === true) {
          if (options.force === true || options.workspace !== undefined) {
            throw new UsageError(
              '--all cannot be combined with --force or --workspace',
              'force workspaces one at a time',
            );
          }
          return closeAll(cli, context, period, { ...options, acceptChange: accepted });
        }
        const { id } = chooseWorkspace(context.config, options.workspace);
        if (options.force !== true) requireVerifiedLedger((await verifyBooks(scopeOf(context))).faults.length);
        const event = await closeOne(context, period, id, options);
        cli.printResult(recordOf(event), eventLines(event));
        cli.noteCheckpoint(event.checkpointFault);
        noteSkipped(cli, context, (month) => month.workspaceId === id);
      }),
    );
}

async function closeOne(
  context: Context,
  period: string,
  id: string,
  { by = systemUser(), note = '', force = false, acceptChange = [] }: CloseOptions,
): Promise<PeriodEvent & Recorded> {
  const { settleHours } = chooseWorkspace(context.config, id);
  const writer = await context.existingWriter();
  return writer.closePeriod({
    workspaceId: id,
    period,
    by,
    note,
    force,
    settleHours,
    maxChange: context.config.close.maxChange,
    statement: statementSettings(context),
    acceptChange: acceptChange.includes(id),
    nowMs: context.clock.now(),
  });
}

function requireVerifiedLedger(faults: number): void {
  if (faults === 0) return;
  throw new AppError('ledger_unsound', `cannot close: the ledger has ${counted(faults, 'fault')}`, {
    hint: 'list them with `usage-ledger verify` and resolve them first',
  });
}

function statementSettings({ config }: Context) {
  const { number, letterhead } = config.statement;
  if (letterhead === null) return { number, letterhead };
  const { name, address, logo, footer, language } = letterhead;
  const file = logo === null ? null : resolve(config.file === null ? '' : dirname(config.file), logo);
  return { number, letterhead: { name, address, logo: file && logoUrl(file), footer, language } };
}

const MAX_LOGO_BYTES = 65_536;
const LOGO_REMEDY = 'set statement.letterhead.logo to a PNG, JPEG or SVG file of at most 64 KiB';

function logoUrl(path: string): string {
  const file = readInputFile(path);
  const { kind } = requireKind(file, ['png', 'jpeg', 'svg'], LOGO_REMEDY);
  if (file.bytes.length > MAX_LOGO_BYTES) {
    throw new UsageError(`${path} is too large for a logo: ${counted(file.bytes.length, 'byte')}`, LOGO_REMEDY);
  }
  return `data:image/${kind === 'svg' ? 'svg+xml' : kind};base64,${file.bytes.toString('base64')}`;
}

interface CloseOutcome {
  result: 'closed' | 'closed_already' | 'refused';
  record: object;
  lines: (string | null)[];
}

async function closeAll(cli: CliContext, context: Context, period: string, options: CloseOptions): Promise<void> {
  const plan = await planMonth.run(scopeOf(context), { period });
  requireVerifiedLedger(plan.faults);
  const outcomes: CloseOutcome[] = [];
  for (const workspace of plan.workspaces) {
    const outcome = await closePlanned(cli, context, workspace, period, options);
    outcomes.push(outcome);
    if (!cli.json) for (const line of outcome.lines) if (line !== null) printProse(cli, line, 2);
  }
  const count = (wanted: CloseOutcome['result']) => outcomes.filter(({ result }) => result === wanted).length;
  const [closed, before, refused] = [count('closed'), count('closed_already'), count('refused')];
  if (refused > 0) cli.exitCode = refused === outcomes.length ? EXIT.failed : EXIT.partial;
  const workspaces = outcomes.map(({ result, record }) => ({ result, ...record }));
  const already = before === 0 ? '' : `${formatInteger(before)} already closed, `;
  cli.printResult({ period, refused, workspaces }, [
    `${counted(closed, 'workspace')} closed, ${already}${formatInteger(refused)} not closed`,
  ]);
  noteSkipped(cli, context, () => true);
}

async function closePlanned(
  cli: CliContext,
  context: Context,
  { workspace_id: id, state, blockers }: MonthEndWorkspace,
  period: string,
  options: CloseOptions,
): Promise<CloseOutcome> {
  const where = `${inertText(id)}, ${period}`;
  if (state === 'closed') return { result: 'closed_already', record: { workspace_id: id }, lines: [] };
  const isAccepted = ({ kind }: Blocker) => kind === 'change' && options.acceptChange?.includes(id) === true;
  const remaining = blockers.filter((blocker) => !isAccepted(blocker));
  if (remaining.length > 0) return closeRefusal(id, where, remaining);
  try {
    const event = await closeOne(context, period, id, options);
    cli.noteCheckpoint(event.checkpointFault);
    return { result: 'closed', record: recordOf(event), lines: eventLines(event) };
  } catch (error) {
    // The state changed between plan and close, for example because a run started.
    const { code, message } = summarizeError(error);
    return closeRefusal(id, where, [{ kind: code, reason: message, command: null }]);
  }
}

function closeRefusal(
  id: string,
  where: string,
  reasons: readonly { kind: string; reason: string; command: string | null }[],
): CloseOutcome {
  const lines = reasons.flatMap(({ reason, command }) => [
    `  - ${inertText(reason)}`,
    command === null ? null : `    $ ${inertText(command)}`,
  ]);
  return { result: 'refused', record: { workspace_id: id, reasons }, lines: [`${where}: NOT closed:`, ...lines] };
}

function noteSkipped(cli: CliContext, context: Context, isInPeriods: (month: SkippedMonth) => boolean): void {
  const skipped = describeSkipped(skippedMonths(context.reader().connection).filter(isInPeriods));
  if (skipped !== null) cli.note(`${skipped}.`);
}

export function reopenCommand(cli: CliContext): CliCommand {
  return reportingCommand('reopen')
    .argument('<period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .option(...BY_OPTION)
    .option('--note <text>', 'reason (required)')
    .examples('usage-ledger reopen 2026-02 --by "Ada Byron" --note "credit note for acme was missing"')
    .action((text: string, options: ReopenOptions) =>
      cli.withContext(async (context) => {
        const { by = systemUser(), note } = options;
        if (!by.trim() || !note?.trim()) {
          throw new UsageError('reopen needs --note', 'add --note with the reason: auditors will ask');
        }
        const workspace = chooseWorkspace(context.config, options.workspace);
        const writer = await context.existingWriter();
        const request = { workspaceId: workspace.id, period: parsePeriod(text), by, note, nowMs: context.clock.now() };
        const event = await writer.reopenPeriod(request);
        cli.printResult(recordOf(event), eventLines(event));
        cli.noteCheckpoint(event.checkpointFault);
      }),
    );
}

function recordOf(event: PeriodEvent): object {
  return {
    action: event.action,
    workspace_id: event.workspaceId,
    period: event.period,
    at: event.at,
    tenants: event.tenants,
    credits_used: event.creditsUsed,
    request_count: event.requestCount,
    overridden: event.overridden,
    reversed_adjustments: event.reversed,
    event_seq: event.eventSeq,
    digest: event.digest,
  };
}

function eventLines({ action, period, workspaceId, ...event }: PeriodEvent): (string | null)[] {
  const { tenants, creditsUsed, requestCount } = event;
  const figures = [counted(tenants, 'tenant'), counted(creditsUsed, 'credit'), counted(requestCount, 'request')].join(
    ', ',
  );
  const where = `${inertText(workspaceId)}, ${period}`;
  return [
    action === 'close' ? `${where}: closed with ${figures}` : `${where}: reopened; it was closed with ${figures}`,
    ...event.overridden.map((reason) => `  despite: ${reason}`),
    event.reversed === 0 ? null : `  ${counted(event.reversed, 'adjustment')} reversed`,
    `head digest ${event.digest}`,
  ];
}
