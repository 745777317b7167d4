import type { Config, WorkspaceConfig } from '../config/types.ts';
import { isoTime, type WallClock } from '../core/clock.ts';
import type { CronSchedule } from '../core/cron.ts';
import { firstRun } from '../ledger/journal/runs/run-facts.ts';
import { type SlotKind, SlotLog } from '../ledger/journal/runs/slot-log.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { runs } from '../ledger/store/schema/run-tables.ts';
import { highest } from '../ledger/store/subjects.ts';
import type { SlotHistory } from '../queue/slots.ts';

/**
 * One of the two schedules of a workspace: for regular runs, or for `reconcile` runs, which read the whole history
 * again.
 */
export interface WorkspaceSchedule extends CronSchedule {
  key: string;
  workspaceId: string;
  kind: SlotKind;
}

export function listSchedules({ workspaces }: Pick<Config, 'workspaces'>): WorkspaceSchedule[] {
  const kinds: SlotKind[] = ['scheduled', 'reconcile'];
  return workspaces.flatMap((workspace) =>
    kinds.map((kind) => ({
      key: scheduleKey(workspace.id, kind),
      ...configuredSchedule(workspace, kind),
      workspaceId: workspace.id,
      kind,
    })),
  );
}

export function scheduleKey(workspaceId: string, kind: SlotKind): string {
  return `${workspaceId} ${kind}`;
}

export function configuredSchedule({ cron, reconcileCron, timezone }: WorkspaceConfig, kind: SlotKind): CronSchedule {
  return { cron: kind === 'scheduled' ? cron : reconcileCron, timezone };
}

/**
 * Returns a function that reads from the ledger which slots (scheduled times) of a workspace are done or have failed.
 * `lastRunKey` is the key of the last run before this daemon started; default: the newest run.
 */
export function createSlotHistory(
  connection: LedgerDb,
  clock: WallClock,
  lastRunKey = highest(connection, runs.runKey),
): (schedule: Pick<WorkspaceSchedule, 'workspaceId' | 'kind'>) => SlotHistory {
  const slots = new SlotLog(connection);
  return ({ workspaceId, kind }) => {
    const record = slots.record(workspaceId, kind);
    // A refusal before this daemon started does not count, because a person may have corrected the credentials since.
    const refused = record.refused && (record.failedRunKey ?? 0) > lastRunKey;
    if (kind === 'scheduled' || record.doneSlot !== null) return { ...record, refused };
    // The first run of a workspace reads the whole history, so slots of the `reconcile` schedule before that run count
    // as done.
    const first = firstRun(connection, workspaceId);
    return { ...record, refused, doneSlot: first === null ? isoTime(clock.now()) : first.wholeReadAt };
  };
}
