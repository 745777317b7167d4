import { isoTime, type WallClock } from '../core/clock.ts';
import { firstRun } from '../ledger/journal/runs/first-run.ts';
import { SlotLog } from '../ledger/journal/runs/slot-log.ts';
import type { LedgerConnection } from '../ledger/store/file/open.ts';
import { runs } from '../ledger/store/schema/run-tables.ts';
import { highest } from '../ledger/store/subjects.ts';
import type { SlotHistory } from '../queue/slots.ts';
import type { WorkspaceSchedule } from './schedules.ts';

/**
 * Tells the scheduler which slots of a workspace are done, from the ledger, for a daemon that has started after the run
 * `lastRunKey`: one that starts now when absent.
 */
export function createSlotHistory(
  connection: LedgerConnection,
  clock: WallClock,
  lastRunKey = highest(connection, runs.runKey),
): (schedule: Pick<WorkspaceSchedule, 'workspaceId' | 'kind'>) => SlotHistory {
  const slots = new SlotLog(connection);
  return ({ workspaceId, kind }) => {
    const record = slots.record(workspaceId, kind);
    // Whoever starts the daemon may have put the credentials right.
    const refused = record.refused && (record.failedRunKey ?? 0) > lastRunKey;
    if (kind === 'scheduled' || record.doneSlot !== null) return { ...record, refused };
    // The daemon's first run of a workspace reads the whole history: none is owed before it or for an earlier slot.
    const first = firstRun(connection, workspaceId);
    return { ...record, refused, doneSlot: first === null ? isoTime(clock.now()) : first.wholeReadAt };
  };
}
