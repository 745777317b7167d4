import { isoTime } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import { isMovedAway } from '../../journal/moved-away.ts';
import { capLeases, releaseLease, supersedeRunning, takeLease } from '../../journal/runs/claim-run.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import { LedgerError } from '../../store/errors.ts';
import type { LedgerConnection } from '../../store/file/open.ts';

export interface MoveRequest {
  workspaceId: string;
  /** Who moves it; stored as given. */
  by: string;
  nowMs: number;
}

export interface SealedWorkspace {
  /** It had been exported before, and stays as it was. */
  already: boolean;
  /** Notifications of it that still wait here: this ledger's daemon sends them, no other does. */
  waiting: number;
}

/**
 * Closes a workspace to this ledger, because its history is about to go on in another: no run, close or reopen may follow.
 * Takes the workspace's lease, so that no run is under way. A second call changes nothing.
 *
 * @throws AppError `unknown_workspace`, LeaseHeldError.
 */
export function sealWorkspace(connection: LedgerConnection, request: MoveRequest): SealedWorkspace {
  capLeases(connection, request.nowMs);
  return connection
    .transaction(() => {
      const workspaceKey = keyOf(connection, request.workspaceId);
      const already = isMovedAway(connection, workspaceKey);
      if (!already) {
        const fencingToken = takeLease(connection, workspaceKey, request);
        supersedeRunning(connection, workspaceKey, isoTime(request.nowMs));
        noteMove(connection, { ...request, workspaceKey, action: 'export', from: null });
        releaseLease(connection, { workspaceKey, fencingToken });
      }
      return { already, waiting: waitingNotifications(connection, workspaceKey) };
    })
    .immediate();
}

/** Takes an export back: the workspace is read and closed here again. Right only where nobody has imported it. */
export function keepWorkspace(connection: LedgerConnection, request: MoveRequest): void {
  connection
    .transaction(() => {
      const workspaceKey = keyOf(connection, request.workspaceId);
      if (!isMovedAway(connection, workspaceKey)) {
        throw new LedgerError('not_exported', `workspace ${JSON.stringify(request.workspaceId)} is not exported`, {
          hint: 'nothing is to be taken back: it is read and closed here',
        });
      }
      noteMove(connection, { ...request, workspaceKey, action: 'keep', from: null });
    })
    .immediate();
}

interface Move extends MoveRequest {
  workspaceKey: number;
  action: 'export' | 'keep' | 'import';
  /** The ledger that an imported workspace comes from; null: this one. */
  from: { ledgerId: string; position: number; headDigest: string } | null;
}

/** Writes down a move, in the transaction of the caller. */
export function noteMove(
  connection: LedgerConnection,
  { workspaceKey, action, by, nowMs, from }: Omit<Move, 'workspaceId'>,
): void {
  const head = headOfChain(connection);
  connection
    .prepare(
      `INSERT INTO workspace_moves (workspace_key, action, at, actor, ledger_id, position, head_digest)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      ...[workspaceKey, action, isoTime(nowMs), by, from?.ledgerId ?? null],
      ...[from?.position ?? head.seq, from?.headDigest ?? head.digest],
    );
}

function keyOf(connection: LedgerConnection, workspaceId: string): number {
  const key = connection
    .prepare('SELECT workspace_key FROM workspaces WHERE workspace_id = ? AND first_run_key IS NOT NULL')
    .pluck()
    .get(workspaceId) as number | undefined;
  if (key !== undefined) return key;
  throw new AppError('unknown_workspace', `the ledger has no history of workspace ${JSON.stringify(workspaceId)}`, {
    hint: '`usage-ledger status` says what the ledger holds',
  });
}

function waitingNotifications(connection: LedgerConnection, workspaceKey: number): number {
  return connection
    .prepare(
      `SELECT count(*) FROM outbox o JOIN alerts a USING (alert_key)
       WHERE a.workspace_key = ? AND o.state IN ('pending', 'held')`,
    )
    .pluck()
    .get(workspaceKey) as number;
}
