import { z } from 'zod';
import { AppError, InputError, summarizeError } from '../../core/errors.ts';
import { counted } from '../../core/text/words.ts';
import type { PeriodEvent } from '../../ledger/journal/close/close-period.ts';
import { describeSkipped, listSkippedMonths, type SkippedMonth } from '../../ledger/journal/close/closes-in-force.ts';
import type { Blocker, MonthEndWorkspace } from '../../reports/queries/month-end-record.ts';
import type { WithCheckpoint } from '../../writer/session.ts';
import { checkpointNotes } from '../checkpoint-notes.ts';
import { actorText, changeOperation, runRead, type Scope } from '../operation.ts';
import { idText, noteText, periodText } from '../schemas.ts';
import { verifyLedger } from '../system/verify-ledger.ts';
import { chooseWorkspace } from '../workspace-choice.ts';
import { periodEventSchema, toEventRecord, writeOnce } from './period-event.ts';
import { planMonth } from './plan-month.ts';
import { statementForm } from './statement-form.ts';

const MAX_WORKSPACES = 1000;

const periodField = { period: periodText.describe('the month') };
const noteField = { note: noteText.optional().describe('why, or a reference') };
const workspaceIds = z.array(idText).max(MAX_WORKSPACES);
const acceptField = {
  accept_change: workspaceIds
    .optional()
    .describe('close these workspaces even if the change exceeds close.max_change; needs a note'),
};

export const closeMonth = changeOperation({
  name: 'periods.close',
  summary: 'Close a month of a workspace: its figures no longer change',
  role: 'finance',
  input: z.strictObject({
    ...periodField,
    workspace: idText.optional().describe('the workspace; required if there are several'),
    ...noteField,
    force: z.boolean().optional().describe('close despite blockers, which are recorded'),
    ...acceptField,
  }),
  output: periodEventSchema,
  http: { method: 'POST', path: '/periods/{period}/close' },
  command: 'close',
  async run(scope, { period, workspace, note = '', force = false, accept_change: accepted = [] }) {
    checkAccepted(scope, accepted, note);
    const { id } = chooseWorkspace(scope.context.config, workspace);
    if (!force) requireVerifiedLedger((await runRead(scope, verifyLedger, {})).faults.length);
    const event = await closeOne(scope, { period, id, note, force, acceptChange: accepted.includes(id) });
    const notes = [...checkpointNotes(event), ...skippedNotes(scope, (month) => month.workspaceId === id)];
    return { applied: true, document: toEventRecord(event), notes };
  },
});

const reasonSchema = z.strictObject({
  kind: z.string(),
  reason: z.string(),
  command: z.string().nullable().describe('the command that clears it; null if there is none'),
});

const outcomeSchema = z.union([
  z.strictObject({ result: z.literal('closed'), ...periodEventSchema.shape }),
  z.strictObject({ result: z.literal('closed_already'), workspace_id: z.string() }),
  z.strictObject({ result: z.literal('refused'), workspace_id: z.string(), reasons: z.array(reasonSchema) }),
]);

export type CloseOutcome = z.output<typeof outcomeSchema>;

export const closeMonths = changeOperation({
  name: 'periods.close_all',
  summary: 'Close a month of every workspace that is ready, or of those named',
  role: 'finance',
  input: z.strictObject({
    ...periodField,
    workspaces: workspaceIds.optional().describe('only these workspaces'),
    ...noteField,
    ...acceptField,
  }),
  output: z.strictObject({
    period: periodText,
    refused: z.int().describe('the number of workspaces that were not closed'),
    workspaces: z.array(outcomeSchema),
  }),
  http: { method: 'POST', path: '/periods/{period}/close-all' },
  command: 'close',
  async run(scope, { period, workspaces: ids, note = '', accept_change: accepted = [] }) {
    checkAccepted(scope, accepted, note);
    const plan = await runRead(scope, planMonth, { period, workspace: ids });
    requireVerifiedLedger(plan.faults);
    const outcomes: CloseOutcome[] = [];
    const notes: string[] = [];
    for (const workspace of plan.workspaces) {
      const request = {
        period,
        id: workspace.workspace_id,
        note,
        acceptChange: accepted.includes(workspace.workspace_id),
      };
      outcomes.push(await closePlanned(scope, workspace, request, notes));
    }
    const refused = outcomes.filter(({ result }) => result === 'refused').length;
    notes.push(...skippedNotes(scope, () => true));
    return { applied: refused < outcomes.length, document: { period, refused, workspaces: outcomes }, notes };
  },
});

interface OneClose {
  period: string;
  id: string;
  note: string;
  force?: boolean;
  acceptChange: boolean;
}

/**
 * Closes the month of one workspace if nothing blocks it. Sentences for the caller, such as one about a failed
 * checkpoint, are added to `notes`.
 */
async function closePlanned(
  scope: Scope,
  { workspace_id: id, state, blockers }: MonthEndWorkspace,
  request: OneClose,
  notes: string[],
): Promise<CloseOutcome> {
  if (state === 'closed') return { result: 'closed_already', workspace_id: id };
  const isAccepted = ({ kind }: Blocker) => kind === 'change' && request.acceptChange;
  const reasons = blockers.filter((blocker) => !isAccepted(blocker));
  if (reasons.length > 0) return { result: 'refused', workspace_id: id, reasons };
  try {
    const event = await closeOne(scope, request);
    notes.push(...checkpointNotes(event));
    return { result: 'closed', ...toEventRecord(event) };
  } catch (error) {
    // The state has changed since the plan was made, for example because a run started.
    const { code, message } = summarizeError(error);
    return { result: 'refused', workspace_id: id, reasons: [{ kind: code, reason: message, command: null }] };
  }
}

async function closeOne(
  scope: Scope,
  { period, id, note, force = false, acceptChange }: OneClose,
): Promise<PeriodEvent & WithCheckpoint> {
  const { context } = scope;
  const { settleHours } = chooseWorkspace(context.config, id);
  const writer = await context.existingWriter();
  return writeOnce(scope, { action: 'close', workspaceId: id, period, note }, () =>
    writer.closePeriod({
      workspaceId: id,
      period,
      by: actorText(scope.actor),
      note,
      force,
      settleHours,
      maxChange: context.config.close.maxChange,
      statement: statementForm(context),
      acceptChange,
      nowMs: context.clock.now(),
    }),
  );
}

/** Throws InputError if an accepted workspace is not configured, or if a large change is accepted without a note. */
function checkAccepted({ context }: Scope, accepted: readonly string[], note: string): void {
  for (const id of accepted) chooseWorkspace(context.config, id);
  if (accepted.length === 0 || note.trim() !== '') return;
  throw new InputError(
    (nameOf) => `${nameOf('accept_change')} needs ${nameOf('note')}`,
    (nameOf) => `add ${nameOf('note')} with the reason for the change: auditors will ask`,
  );
}

function requireVerifiedLedger(faults: number): void {
  if (faults === 0) return;
  throw new AppError('ledger_unsound', `cannot close: the ledger has ${counted(faults, 'fault')}`, {
    hint: 'list them with `usage-ledger verify` and resolve them first',
  });
}

function skippedNotes({ connection }: Scope, isInPeriods: (month: SkippedMonth) => boolean): string[] {
  const skipped = describeSkipped(listSkippedMonths(connection).filter(isInPeriods));
  return skipped === null ? [] : [`${skipped}.`];
}
