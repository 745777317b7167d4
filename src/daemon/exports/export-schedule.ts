import { basename, join } from 'node:path';
import type { Config, ExportConfig } from '../../config/types.ts';
import { type Clock, isoTime } from '../../core/clock.ts';
import { summarizeError, toBackupError } from '../../core/errors.ts';
import { addPeriods, type Period, periodAt } from '../../core/period.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';
import { siblingModule } from '../../core/process/module-file.ts';
import type { CloseInForce } from '../../ledger/journal/close/closes-in-force.ts';
import { dueSlot } from '../../queue/slots.ts';
import {
  type ExportOccasion,
  type ExportState,
  exportName,
  oldExports,
  readExportState,
  removeUnfinished,
  rotateExports,
  writeExportState,
} from '../../reports/files/export-folder.ts';
import { withBucket } from '../../s3/bucket.ts';
import { isMendedElsewhere } from '../../s3/refusals.ts';
import { askChild } from '../child-answer.ts';
import type { ExportJob } from './export-process.ts';

const CHECK_INTERVAL_MS = 15_000;
const REST_MS = 5 * 60_000;

const FAILED = 'export failed, it will be tried again';

export interface ExportScheduleOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  config: Pick<Config, 'exports' | 'focus' | 'workspaces' | 'ledger'>;
  /** The closes that are in force and newer than this one, oldest first. */
  closesAfter: (eventSeq: number) => CloseInForce[];
  tell(detail: string | null): Promise<void>;
}

interface Due {
  occasion: ExportOccasion;
  period: Period | null;
  workspaceIds: readonly string[];
  onlyThese: boolean;
}

/**
 * Writes each export at the slots of its cron expression, or after each close, in a process of its own. What was missed is
 * made good: the latest slot once, every close. What fails is told as an error, noted beside the files for `doctor`, and
 * tried again every five minutes, when it is told as an alert, too; it keeps no other export back. The stop ends a file
 * under way at once, and nothing of it is left.
 */
export function startExportSchedule(options: ExportScheduleOptions): PeriodicTask {
  const { config, closesAfter, tell, clock, logger } = options;
  const ids = config.workspaces.map(({ id }) => id);
  /** By the monotonic clock. */
  const restUntilMs = new Map<string, number>();
  /** Why each export fails that has failed at two tries in a row; a first one is no news yet. */
  const faults = new Map<string, { tries: number; reason: string }>();
  let told: string | null | undefined;

  const makeDue = async (wanted: ExportConfig, stopping: AbortSignal): Promise<void> => {
    const { name, folder } = wanted;
    if ((restUntilMs.get(name) ?? 0) > clock.monotonic()) return;
    let state = readExportState(folder, name);
    let isWritten = false;
    let isRemoving = false;
    try {
      for (const due of dueOf(wanted, state, { ids, closesAfter, nowMs: clock.now() })) {
        // The folder is made with the state, and a place that cannot be written to shows before any work is done.
        await writeExportState(folder, name, state);
        if (stopping.aborted) return;
        await writeExport(options, wanted, due, stopping);
        state = { ...state, ...doneOf(due.occasion), writtenAt: isoTime(clock.now()) };
        isWritten = true;
        await writeExportState(folder, name, state);
      }
      // What failed before and is not due any more was written: its old files are left.
      if (!isWritten && state.failing === null) return;
      isRemoving = true;
      const removed = await rotate(wanted, clock, stopping);
      if (removed.length > 0) logger.info({ export: name, folder, removed }, 'old exports removed');
      state = { ...state, failing: null };
      faults.delete(name);
      await writeExportState(folder, name, state);
    } catch (error) {
      if (stopping.aborted) return;
      const { code, message, hint } = summarizeError(error);
      const made = isRemoving ? 'the file was written, but old ones could not be removed: ' : '';
      const reason = `${made}${isMendedElsewhere(code) ? toBackupError({ message, hint }) : message}`;
      logger.error({ export: name, folder, code, reason: `${made}${message}`, hint }, FAILED);
      restUntilMs.set(name, clock.monotonic() + REST_MS);
      faults.set(name, { tries: (faults.get(name)?.tries ?? 0) + 1, reason });
      const failing = { since: state.failing?.since ?? isoTime(clock.now()), reason };
      await writeExportState(folder, name, { ...state, failing }).catch(() => undefined);
    }
  };
  const makeAll = async (stopping: AbortSignal): Promise<void> => {
    for (const wanted of config.exports) await makeDue(wanted, stopping);
    const lasting = [...faults].filter(([, { tries }]) => tries > 1);
    // Whether one that has failed once fails for good is not known yet: nothing is told, and nothing taken back.
    if (stopping.aborted || (lasting.length === 0 && faults.size > 0)) return;
    const detail = lasting.length === 0 ? null : lasting.map(([name, { reason }]) => `${name}: ${reason}`).join('; ');
    if (detail === told) return;
    await tell(detail);
    told = detail;
  };
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: CHECK_INTERVAL_MS,
    atOnce: true,
    failed: 'the alert about exports was not written',
    work: makeAll,
  });
}

/** Writes one file, in a process of its own. Nothing is left of one that was not finished. */
async function writeExport(
  { config, clock, logger }: ExportScheduleOptions,
  wanted: ExportConfig,
  due: Due,
  stopping: AbortSignal,
): Promise<void> {
  const { name, view, format, folder, to } = wanted;
  const path = join(folder, exportName(name, due.occasion, format));
  const { period, workspaceIds, onlyThese } = due;
  const order: ExportJob = {
    ledgerPath: config.ledger.path,
    path,
    to,
    name,
    view,
    format,
    workspaceIds,
    onlyThese,
    period,
    focus: config.focus,
    nowMs: clock.now(),
  };
  try {
    const { rows } = await askChild<{ rows: number }>({
      file: siblingModule(import.meta.url, 'export-process'),
      job: order,
      stopping,
      crashed: 'export_crashed',
      does: 'writes the export',
    });
    const address = to === null ? path : `s3://${to.bucket}/${to.prefix}${basename(path)}`;
    logger.info({ export: name, path: address, rows }, 'export written');
  } finally {
    removeUnfinished(path);
  }
}

/** Deletes what is too old, in the bucket or the folder; returns the names. */
async function rotate({ name, folder, keep, to }: ExportConfig, clock: Clock, signal: AbortSignal): Promise<string[]> {
  const limits = { keep, nowMs: clock.now() };
  const removed = rotateExports(folder, name, limits);
  if (to === null) return removed;
  return withBucket({ place: to, clock, signal }, async (bucket) => {
    const old = oldExports(await bucket.names(), name, limits);
    for (const file of old) await bucket.remove(file);
    return old;
  });
}

interface Facts {
  ids: readonly string[];
  closesAfter: ExportScheduleOptions['closesAfter'];
  nowMs: number;
}

function dueOf(wanted: ExportConfig, state: ExportState, { ids, closesAfter, nowMs }: Facts): Due[] {
  const { cron, period, workspaceId, keep } = wanted;
  if (cron !== null) {
    if (dueSlot(cron, state.at, nowMs) === null) return [];
    const of = period === null ? null : addPeriods(periodAt(nowMs), period === 'current' ? 0 : -1);
    const workspaceIds = workspaceId === null ? ids : [workspaceId];
    return [{ occasion: { at: isoTime(nowMs) }, period: of, workspaceIds, onlyThese: workspaceId !== null }];
  }
  const closes = closesAfter(state.eventSeq ?? 0).filter(
    (close) => (workspaceId ?? close.workspaceId) === close.workspaceId,
  );
  // What would be deleted at once is not made.
  return closes.slice(-keep).map(({ eventSeq, period: closed, workspaceId: of }) => ({
    occasion: { period: closed, eventSeq },
    period: closed,
    workspaceIds: [of],
    onlyThese: true,
  }));
}

function doneOf(occasion: ExportOccasion): Pick<ExportState, 'at'> | Pick<ExportState, 'eventSeq'> {
  return 'at' in occasion ? { at: occasion.at } : { eventSeq: occasion.eventSeq };
}
