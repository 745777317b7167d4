import { z } from 'zod';
import { AppError, InputError } from '../../core/errors.ts';
import { type ActLink, lastRetirementAct } from '../../ledger/journal/acts.ts';
import type { WithCheckpoint } from '../../writer/session.ts';
import { checkpointNotes } from '../checkpoint-notes.ts';
import { actorText, type ChangeResult, changeOperation, type Scope } from '../operation.ts';
import { idText, noteText } from '../schemas.ts';

const ACTIONS = ['end', 'elsewhere', 'resume'] as const;
type Action = (typeof ACTIONS)[number];

const fields = {
  workspace: idText.describe('the workspace'),
  note: noteText.describe('the reason'),
};

const output = z.strictObject({
  workspace_id: z.string(),
  action: z.enum(ACTIONS),
  link: z.int().describe('the position in the chain'),
  head_digest: z.string().describe('the head of the chain after it'),
  notifications: z.int().describe('messages about alerts that ended, or that were cancelled'),
});

export const endWorkspace = changeOperation({
  name: 'workspaces.end',
  summary: 'Stop reading a workspace; its history is kept',
  role: 'finance',
  input: z.strictObject({
    ...fields,
    elsewhere: z.boolean().optional().describe('another ledger continues with it: send no notifications from here'),
  }),
  output,
  http: { method: 'POST', path: '/workspaces/{workspace}/end' },
  command: 'workspace end',
  async run(scope, { workspace: workspaceId, note, elsewhere = false }) {
    requireNote(note, 'end');
    const { context, actor } = scope;
    const writer = await context.existingWriter();
    const request = { workspaceId, note, elsewhere, by: actorText(actor), nowMs: context.clock.now() };
    const action = elsewhere ? 'elsewhere' : 'end';
    return actOnce(scope, { workspaceId, action, note }, () => writer.retireWorkspace(request));
  },
});

export const resumeWorkspace = changeOperation({
  name: 'workspaces.resume',
  summary: 'Read an ended workspace again',
  role: 'finance',
  input: z.strictObject(fields),
  output,
  http: { method: 'POST', path: '/workspaces/{workspace}/resume' },
  command: 'workspace resume',
  async run(scope, { workspace: workspaceId, note }) {
    requireNote(note, 'resume');
    const { context, actor } = scope;
    const writer = await context.existingWriter();
    const request = { workspaceId, note, by: actorText(actor), nowMs: context.clock.now() };
    return actOnce(scope, { workspaceId, action: 'resume', note }, async () => {
      return { ...(await writer.resumeWorkspace(request)), notifications: 0 };
    });
  },
});

/** The error codes that a request gets if its change has already been made. */
const REPEATED_CODES: readonly string[] = ['workspace_ended', 'workspace_not_ended'];

/**
 * Ends or resumes a workspace with `write`. A repeated request changes nothing, and returns the chain link of the first
 * request.
 */
async function actOnce(
  { connection, actor }: Scope,
  { workspaceId, action, note }: { workspaceId: string; action: Action; note: string },
  write: () => Promise<ActLink & WithCheckpoint & { notifications: number }>,
): Promise<ChangeResult<z.output<typeof output>>> {
  const done = await write().catch((error: unknown) => {
    const isRefused = error instanceof AppError && REPEATED_CODES.includes(error.code);
    const last = isRefused ? lastRetirementAct(connection, workspaceId) : null;
    const isRepeated = last?.action === action && last.actor === actorText(actor) && last.note === note;
    if (last === null || !isRepeated) throw error;
    return { seq: last.actSeq, digest: last.digest, notifications: 0, checkpointFault: null };
  });
  const { seq, digest, notifications } = done;
  const document = { workspace_id: workspaceId, action, link: seq, head_digest: digest, notifications };
  return { applied: true, document, notes: checkpointNotes(done) };
}

function requireNote(note: string, action: string): void {
  if (note.trim() !== '') return;
  throw new InputError(
    (nameOf) => `${action} needs ${nameOf('note')}`,
    (nameOf) => `add a reason, such as ${nameOf('note')} "contract ended in October"`,
  );
}
