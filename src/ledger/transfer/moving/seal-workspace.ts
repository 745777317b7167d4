import { isoTime } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import { isMovedAway } from '../../journal/moved-away.ts';
import { capLeases, releaseLease, supersedeRunning, takeLease } from '../../journal/runs/claim-run.ts';
import { changesToCover, createLinkDigests, headOfChain } from '../../journal/runs/digest.ts';
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

/** A link of the chain that a move has left. */
export interface MoveLink {
  seq: number;
  digest: string;
}

export interface SealedWorkspace {
  /** Null when it had been exported before. */
  link: MoveLink | null;
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
      const waiting = waitingNotifications(connection, workspaceKey);
      if (isMovedAway(connection, workspaceKey)) return { link: null, waiting };
      const fencingToken = takeLease(connection, workspaceKey, request);
      supersedeRunning(connection, workspaceKey, isoTime(request.nowMs));
      const link = noteMove(connection, { ...request, workspaceKey, action: 'export', from: null });
      releaseLease(connection, { workspaceKey, fencingToken });
      return { link, waiting };
    })
    .immediate();
}

/**
 * Takes an export back: the workspace is read and closed here again. `from` is the ledger that it is taken from, which goes on
 * with it, too; null: nobody has imported it.
 */
export function keepWorkspace(connection: LedgerConnection, request: KeepRequest): MoveLink {
  return connection
    .transaction(() => {
      const workspaceKey = keyOf(connection, request.workspaceId);
      if (request.from === null && !isMovedAway(connection, workspaceKey)) {
        throw new LedgerError('not_exported', `workspace ${JSON.stringify(request.workspaceId)} is not exported`, {
          hint: 'nothing is to be taken back: it is read and closed here',
        });
      }
      return noteMove(connection, { ...request, workspaceKey, action: 'keep' });
    })
    .immediate();
}

export type KeepRequest = MoveRequest & Pick<Move, 'from'>;

interface Move extends MoveRequest {
  workspaceKey: number;
  action: 'export' | 'keep' | 'import';
  /** The ledger that an imported workspace comes from; null: this one. */
  from: { ledgerId: string; position: number; headDigest: string } | null;
}

/** Appends a move to the chain, in the transaction of the caller. It covers all row changes since the last run or move. */
export function noteMove(
  connection: LedgerConnection,
  { workspaceId, workspaceKey, action, by, nowMs, from }: Move,
): MoveLink {
  const head = headOfChain(connection);
  const { ledgerId = null, position = head.seq, headDigest = head.digest } = from ?? {};
  const said = { action, at: isoTime(nowMs), actor: by, ledgerId, position, headDigest };
  const link = { ...said, moveSeq: head.seq + 1, previousDigest: head.digest };
  const changes = changesToCover(connection);
  const digest = createLinkDigests(connection).ofMove({ ...link, ...changes, workspaceId });
  const { lastChangeSeq } = changes;
  query(connection)
    .insert(workspaceMoves)
    .values({ ...link, workspaceKey, lastChangeSeq, digest })
    .run();
  return { seq: link.moveSeq, digest };
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
