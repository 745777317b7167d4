import { endAlerts, withdrawMessages } from '../../alerts/notify/end-alerts.ts';
import { evaluateAgain } from '../../alerts/notify/evaluate-due.ts';
import { type PrunedDeliveries, pruneDeliveries } from '../../alerts/notify/prune-deliveries.ts';
import { isoTime } from '../../core/clock.ts';
import {
  type EndLink,
  type EndRequest,
  endWorkspace,
  type ResumeRequest,
  resumeWorkspace,
} from '../../ledger/journal/end-workspace.ts';
import { type PrunedRuns, pruneRuns } from '../../ledger/journal/runs/prune-runs.ts';
import { truncateLog } from '../../ledger/store/file/truncate-log.ts';
import { type Desk, type Noted, noteHead } from './desk.ts';

/** What one step has forgotten, and whether there is more of it. */
export type Pruned = PrunedRuns & PrunedDeliveries;

/** What is done with the ledger as a whole: upkeep, ends of workspaces, its place beside other copies. */
export const ledgerCommands = {
  /** Forgets some of what is older than `beforeMs` and need not be kept. */
  prune({ connection }: Desk, { beforeMs, nowMs }: { beforeMs: number; nowMs: number }): Pruned {
    const before = isoTime(beforeMs);
    const runs = pruneRuns(connection, before, nowMs);
    const { notifications, more } = pruneDeliveries(connection, before);
    return { ...runs, notifications, more: runs.more || more };
  },

  /** Cuts the write-ahead log; false while a reader still needs it. */
  truncateLog: ({ connection }: Desk, _args: undefined): boolean => truncateLog(connection),

  /** `notifications`: how many tell of what is over, or were taken back because another ledger sends them. */
  endWorkspace(desk: Desk, request: EndRequest): EndLink & { notifications: number } & Noted {
    const { connection } = desk;
    const { settled, seq, digest } = endWorkspace(connection, request, (workspace) =>
      request.elsewhere
        ? withdrawMessages(connection, workspace.workspaceKey, request.nowMs)
        : endAlerts(connection, { ...workspace, by: request.by, nowMs: request.nowMs }),
    );
    return { seq, digest, notifications: settled, ...noteHead(desk, seq, digest, request.nowMs) };
  },
  resumeWorkspace(desk: Desk, request: ResumeRequest): EndLink & Noted {
    const { connection } = desk;
    const link = resumeWorkspace(connection, request, ({ workspaceKey }) =>
      evaluateAgain(connection, workspaceKey, request.nowMs),
    );
    return { ...link, ...noteHead(desk, link.seq, link.digest, request.nowMs) };
  },
};
