import { z } from 'zod';
import { InputError } from '../../core/errors.ts';
import { checkpointNotes } from '../checkpoint-notes.ts';
import { actorText, changeOperation } from '../operation.ts';
import { idText, noteText, periodText } from '../schemas.ts';
import { chooseWorkspace } from '../workspace-choice.ts';
import { periodEventSchema, toEventRecord, writeOnce } from './period-event.ts';

export const reopenMonth = changeOperation({
  name: 'periods.reopen',
  summary: 'Reopen a closed month of a workspace; its corrections are reversed',
  role: 'finance',
  input: z.strictObject({
    period: periodText.describe('the month'),
    workspace: idText.optional().describe('the workspace; required if there are several'),
    note: noteText.describe('the reason'),
  }),
  output: periodEventSchema,
  http: { method: 'POST', path: '/periods/{period}/reopen' },
  command: 'reopen',
  async run(scope, { period, workspace, note }) {
    const { context, actor } = scope;
    if (actor.name.trim() === '' || note.trim() === '') {
      throw new InputError(
        (nameOf) => `reopen needs ${nameOf('note')}`,
        (nameOf) => `add ${nameOf('note')} with the reason: auditors will ask`,
      );
    }
    const { id: workspaceId } = chooseWorkspace(context.config, workspace);
    const writer = await context.existingWriter();
    const request = { workspaceId, period, by: actorText(actor), note, nowMs: context.clock.now() };
    const event = await writeOnce(scope, { action: 'reopen', workspaceId, period, note }, () =>
      writer.reopenPeriod(request),
    );
    return { applied: true, document: toEventRecord(event), notes: checkpointNotes(event) };
  },
});
