import { basename, join } from 'node:path';
import type { Config, ExportConfig } from '../../config/types.ts';
import { type Clock, isoTime } from '../../core/clock.ts';
import { MINUTE_MS } from '../../core/durations.ts';
import { summarizeError, withRemedy } from '../../core/errors.ts';
import { addPeriods, type Period, periodAt } from '../../core/period.ts';
import { hasTimedOut, type PeriodicTask } from '../../core/periodic-task.ts';
import { siblingModule } from '../../core/process/module-file.ts';
import type { CloseInForce } from '../../ledger/journal/close/closes-in-force.ts';
import { dueSlot } from '../../queue/slots.ts';
import {
  type ExportOccasion,
  type ExportState,
  type ExportStatus,
  exportName,
  NEVER_EXPORTED,
  oldExports,
} from '../../reports/files/export-folder.ts';
import { withBucket } from '../../s3/bucket.ts';
import { isS3Failure } from '../../s3/refusals.ts';
import { runInChild } from '../child-process.ts';
import { type Folders, openFolders } from '../folders/open-folders.ts';
import { healthOf, type JobDeps, startJob } from '../jobs.ts';
import type { ExportJob } from './export-process.ts';

const EXPORT_RETRY_DELAY_MS = 5 * 60_000;

/** Interval at which the folders are read for the metrics, even while no export is due. */
const STATUS_INTERVAL_MS = 5 * MINUTE_MS;

const FAILED = 'export failed, it will be retried';

export interface ExportScheduleOptions extends JobDeps {
  config: Pick<Config, 'exports' | 'focus' | 'workspaces' | 'ledger'>;
  /** Returns the closes in force after the position `eventSeq` of the chain, oldest first. */
  closesAfter: (eventSeq: number) => CloseInForce[];
  reportHealth(detail: string | null): Promise<void>;
}

export interface ExportSchedule extends PeriodicTask {
  /** The statuses of the exports, as last read from their folders. */
  statuses(): readonly ExportStatus[];
}

interface Due {
  occasion: ExportOccasion;
  period: Period | null;
  workspaceIds: readonly string[];
  onlyThese: boolean;
}

/**
 * Writes each export in a child process, at the slots of its cron expression or after each close. After a downtime the
 * last missed slot and every missed close are exported. A failed export is logged, recorded in its folder for `doctor`,
 * and retried every five minutes; the second failure raises an alert. A failed export does not delay other exports. A
 * stop kills the child and removes the unfinished file.
 */
export function startExportSchedule(options: ExportScheduleOptions): ExportSchedule {
  const { config, closesAfter, clock, logger } = options;
  const ids = config.workspaces.map(({ id }) => id);
  /** The monotonic time before which each export is not retried. */
  const restUntilMs = new Map<string, number>();
  /**
   * The number of consecutive failures of each export, and the reason of the last one. The first failure raises no
   * alert.
   */
  const faults = new Map<string, { tries: number; reason: string }>();
  /** The state of each export, as last read or written. */
  const states = new Map<string, ExportState>();
  const statuses = new Map<string, ExportStatus>();
  /** Monotonic time after which the folders are read again for the metrics. */
  let nextStatusMs = Number.NEGATIVE_INFINITY;
  const folders = openFolders({ crashed: 'export_crashed' });
  const health = healthOf('exports', clock, options.reportHealth);

  const writeState = async ({ folder, name }: ExportConfig, state: ExportState): Promise<void> => {
    await folders.writeExportState(folder, name, state);
    states.set(name, state);
    nextStatusMs = Number.NEGATIVE_INFINITY;
  };

  const writeDueFiles = async (wanted: ExportConfig, stopping: AbortSignal): Promise<void> => {
    const { name, folder } = wanted;
    if ((restUntilMs.get(name) ?? 0) > clock.monotonic()) return;
    let state = states.get(name) ?? NEVER_EXPORTED;
    let isWritten = false;
    let isRemoving = false;
    try {
      if (!states.has(name)) {
        state = await folders.readExportState(folder, name);
        states.set(name, state);
      }
      for (const due of listDue(wanted, state, { ids, closesAfter, nowMs: clock.now() })) {
        // Creates the folder first, so that a folder that cannot be written fails before the export is computed.
        await writeState(wanted, state);
        if (stopping.aborted) return;
        await writeExport({ ...options, folders }, wanted, due, stopping);
        state = { ...state, ...stateAfter(due.occasion), writtenAt: isoTime(clock.now()) };
        isWritten = true;
        await writeState(wanted, state);
      }
      // An export that failed and is no longer due has been written. Only its old files must still be removed.
      if (!isWritten && state.failing === null) return;
      isRemoving = true;
      const removed = await rotate(wanted, folders, clock, stopping);
      if (removed.length > 0) logger.info({ export: name, folder, removed }, 'old exports removed');
      state = { ...state, failing: null };
      faults.delete(name);
      await writeState(wanted, state);
    } catch (error) {
      if (stopping.aborted && !hasTimedOut(stopping)) return;
      const { code, message, hint } = summarizeError(hasTimedOut(stopping) ? stopping.reason : error);
      const made = isRemoving ? 'the file was written, but old ones could not be removed: ' : '';
      const reason = `${made}${isS3Failure(code) ? withRemedy({ message, hint }) : message}`;
      logger.error({ export: name, folder, code, reason: `${made}${message}`, hint }, FAILED);
      restUntilMs.set(name, clock.monotonic() + EXPORT_RETRY_DELAY_MS);
      faults.set(name, { tries: (faults.get(name)?.tries ?? 0) + 1, reason });
      const failing = { since: state.failing?.since ?? isoTime(clock.now()), reason };
      // If the state file could not be read, it is not overwritten: it records the last close that was exported.
      if (states.has(name)) await writeState(wanted, { ...state, failing }).catch(() => undefined);
    }
  };
  const writeAllDue = async (stopping: AbortSignal): Promise<void> => {
    for (const wanted of config.exports) await writeDueFiles(wanted, stopping);
    const lasting = [...faults].filter(([, { tries }]) => tries > 1);
    // After a single failure, the alert is neither raised nor ended, because the retry decides.
    if (stopping.aborted || (lasting.length === 0 && faults.size > 0)) return;
    const detail = lasting.length === 0 ? null : lasting.map(([name, { reason }]) => `${name}: ${reason}`).join('; ');
    await health.report(detail);
  };
  const readStatuses = async (): Promise<void> => {
    if (clock.monotonic() < nextStatusMs) return;
    nextStatusMs = clock.monotonic() + STATUS_INTERVAL_MS;
    for (const { folder, name } of config.exports) {
      const status = await folders.readExportStatus(folder, name).catch((error: unknown): ExportStatus => {
        const { message: reason } = summarizeError(error);
        return { name, writtenAt: statuses.get(name)?.writtenAt ?? null, failing: { since: null, reason } };
      });
      statuses.set(name, status);
    }
  };
  const task = startJob('exports', { clock, logger }, async (stopping) => {
    folders.endWith(stopping);
    try {
      await writeAllDue(stopping);
      if (!stopping.aborted) await readStatuses();
    } finally {
      folders.close();
    }
  });
  return { ...task, statuses: () => [...statuses.values()] };
}

/** Writes one file in a child process. An unfinished file is removed. */
async function writeExport(
  { config, folders, clock, logger }: ExportScheduleOptions & { folders: Folders },
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
    const { rows } = await runInChild<{ rows: number }>({
      file: siblingModule(import.meta.url, 'export-process'),
      job: order,
      stopping,
      crashed: 'export_crashed',
      does: 'writes the export',
    });
    const address = to === null ? path : `s3://${to.bucket}/${to.prefix}${basename(path)}`;
    logger.info({ export: name, path: address, rows }, 'export written');
  } finally {
    await folders.removeUnfinishedExport(folder, basename(path));
  }
}

/** Deletes expired exports from the bucket or folder and returns their names. */
async function rotate(
  { name, folder, keep, to }: ExportConfig,
  folders: Folders,
  clock: Clock,
  signal: AbortSignal,
): Promise<string[]> {
  const limits = { keep, nowMs: clock.now() };
  const removed = await folders.rotateExports(folder, name, limits);
  if (to === null) return removed;
  return withBucket({ place: to, clock, signal }, async (bucket) => {
    const old = oldExports(await bucket.names(), name, limits);
    for (const file of old) await bucket.remove(file);
    return old;
  });
}

interface DueContext {
  ids: readonly string[];
  closesAfter: ExportScheduleOptions['closesAfter'];
  nowMs: number;
}

function listDue(wanted: ExportConfig, state: ExportState, { ids, closesAfter, nowMs }: DueContext): Due[] {
  const { cron, timezone, period, workspaceId, keep } = wanted;
  if (cron !== null) {
    if (dueSlot({ cron, timezone }, state.at, nowMs) === null) return [];
    const of = period === null ? null : addPeriods(periodAt(nowMs), period === 'current' ? 0 : -1);
    const workspaceIds = workspaceId === null ? ids : [workspaceId];
    return [{ occasion: { at: isoTime(nowMs) }, period: of, workspaceIds, onlyThese: workspaceId !== null }];
  }
  const closes = closesAfter(state.eventSeq ?? 0).filter(
    (close) => (workspaceId ?? close.workspaceId) === close.workspaceId,
  );
  // Older closes are skipped, because rotation would delete their files immediately.
  return closes.slice(-keep).map(({ eventSeq, period: closed, workspaceId: of }) => ({
    occasion: { period: closed, eventSeq },
    period: closed,
    workspaceIds: [of],
    onlyThese: true,
  }));
}

function stateAfter(occasion: ExportOccasion): Pick<ExportState, 'at'> | Pick<ExportState, 'eventSeq'> {
  return 'at' in occasion ? { at: occasion.at } : { eventSeq: occasion.eventSeq };
}
