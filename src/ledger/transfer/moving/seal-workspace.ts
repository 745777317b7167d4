import { isoTime } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import { isMovedAway } from '../../journal/moved-away.ts';
import { capLeases, releaseLease, supersedeRunning, takeLease } from '../../journal/runs/claim-run.ts';
import { headOfChain } from '../../journal/runs/digest.ts';
import { LedgerError } from '../../store/errors.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { alerts } from '../../store/schema/alert-tables.ts';
import { and, count, eq, inArray } from '../../store/schema/drizzle.ts';
import { outbox } from '../../store/schema/outbox-tables.ts';
import { workspaceMoves } from '../../store/schema/workspace-tables.ts';
import { findWorkspace } from '../../store/subjects.ts';

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

/**
 * Takes an export back: the workspace is read and closed here again. `from` is the ledger that it is taken from, which goes on
 * with it, too; null: nobody has imported it.
 */
export function keepWorkspace(connection: LedgerConnection, request: MoveRequest & Pick<Move, 'from'>): void {
  connection
    .transaction(() => {
      const workspaceKey = keyOf(connection, request.workspaceId);
      if (request.from === null && !isMovedAway(connection, workspaceKey)) {
        throw new LedgerError('not_exported', `workspace ${JSON.stringify(request.workspaceId)} is not exported`, {
          hint: 'nothing is to be taken back: it is read and closed here',
        });
      }
      noteMove(connection, { ...request, workspaceKey, action: 'keep' });
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
  const { ledgerId = null, position = head.seq, headDigest = head.digest } = from ?? {};
  query(connection)
    .insert(workspaceMoves)
    .values({ workspaceKey, action, at: isoTime(nowMs), actor: by, ledgerId, position, headDigest })
    .run();
}

function keyOf(connection: LedgerConnection, workspaceId: string): number {
  const workspace = findWorkspace(connection, workspaceId);
  if (workspace !== undefined && workspace.firstRunKey !== null) return workspace.workspaceKey;
  throw new AppError('unknown_workspace', `the ledger has no history of workspace ${JSON.stringify(workspaceId)}`, {
    hint: '`usage-ledger status` says what the ledger holds',
  });
}

function waitingNotifications(connection: LedgerConnection, workspaceKey: number): number {
  const waiting = query(connection)
    .select({ count: count() })
    .from(outbox)
    .innerJoin(alerts, eq(alerts.alertKey, outbox.alertKey))
    .where(and(eq(alerts.workspaceKey, workspaceKey), inArray(outbox.state, ['pending', 'held'])))
    .get();
  return waiting?.count ?? 0;
}
