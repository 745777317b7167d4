import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import { requireNotRetired } from '../../ledger/journal/retired-workspaces.ts';
import { findWorkspace } from '../../ledger/store/subjects.ts';
import { changeOperation } from '../operation.ts';
import { idText } from '../schemas.ts';

export const requestSync = changeOperation({
  name: 'workspaces.sync',
  summary: 'Ask the daemon to read a workspace now; the run is listed once it starts',
  role: 'operate',
  input: z.strictObject({ workspace: idText.describe('the workspace') }),
  output: z.strictObject({
    workspace_id: z.string(),
    requested_at: z.string(),
    state: z
      .enum(['queued', 'already_queued'])
      .describe('`already_queued`: a run of the workspace waits or is running'),
  }),
  http: { method: 'POST', path: '/workspaces/{workspace}/sync', status: 202 },
  command: null,
  async run({ context, connection, enqueueSync }, { workspace }) {
    const { id } = context.workspace(workspace);
    requireNotRetired(connection, findWorkspace(connection, id)?.workspaceKey ?? null);
    if (enqueueSync === undefined) {
      throw new AppError('no_daemon', 'only a running daemon queues a sync', { hint: 'run `usage-ledger sync`' });
    }
    const nowMs = context.clock.now();
    const answer = await enqueueSync(id, nowMs);
    const state = answer === 'added' ? ('queued' as const) : ('already_queued' as const);
    return { applied: true, document: { workspace_id: id, requested_at: isoTime(nowMs), state }, notes: [] };
  },
});
