import { type PrunedOutbox, pruneOutbox } from '../../alerts/outbox/prune-outbox.ts';
import { isoTime } from '../../core/clock.ts';
import { type PrunedRuns, pruneRuns } from '../../ledger/journal/runs/prune-runs.ts';
import { truncateLog } from '../../ledger/store/file/truncate-log.ts';
import { changeReplicaEpoch, forgetQueueInUse } from '../../ledger/store/schema/identity.ts';
import {
  type KeepRequest,
  keepWorkspace,
  type MoveLink,
  type MoveRequest,
  type SealedWorkspace,
  sealWorkspace,
} from '../../ledger/transfer/moving/seal-workspace.ts';
import { type Desk, type Noted, noteHead } from './desk.ts';

/** What one step has forgotten, and whether there is more of it. */
export type Pruned = PrunedRuns & PrunedOutbox;

/** What is done with the ledger as a whole: upkeep, moves, its place beside other copies. */
export const ledgerCommands = {
  /** Forgets some of what is older than `beforeMs` and need not be kept. */
  prune({ connection }: Desk, { beforeMs, nowMs }: { beforeMs: number; nowMs: number }): Pruned {
    const before = isoTime(beforeMs);
    const runs = pruneRuns(connection, before, nowMs);
    const outbox = pruneOutbox(connection, before);
    return { ...runs, ...outbox, more: runs.more || outbox.more };
  },

  /** Cuts the write-ahead log; false while a reader still needs it. */
  truncateLog: ({ connection }: Desk, _args: undefined): boolean => truncateLog(connection),

  sealWorkspace(desk: Desk, request: MoveRequest): SealedWorkspace & Partial<Noted> {
    const sealed = sealWorkspace(desk.connection, request);
    if (sealed.link === null) return sealed;
    return { ...sealed, ...noteHead(desk, sealed.link.seq, sealed.link.digest, request.nowMs) };
  },
  keepWorkspace(desk: Desk, request: KeepRequest): MoveLink & Noted {
    const link = keepWorkspace(desk.connection, request);
    return { ...link, ...noteHead(desk, link.seq, link.digest, request.nowMs) };
  },

  /** Says that this copy of the ledger is the one that the replica counts as `epoch`. */
  changeReplicaEpoch: ({ connection }: Desk, { epoch }: { epoch: number }): void =>
    changeReplicaEpoch(connection, epoch),
  forgetQueueInUse: ({ connection }: Desk, _args: undefined): void => forgetQueueInUse(connection),
};
