import { Worker } from 'node:worker_threads';
import { type Cancel, systemClock } from '../../../core/clock.ts';
import { AppError, unpackError } from '../../../core/errors.ts';
import { siblingModule } from '../../../core/process/module-file.ts';
import { ageMs } from '../../../core/stored-time.ts';
import type { Report, ReportOrder, ReportReply } from './report-thread.ts';

/** The thread ends after this time without a request, because the chart library takes memory. */
const THREAD_IDLE_MS = 60_000;
/** Maximum number of waiting pages; further requests fail with `report_busy`. */
const MAX_WAITING_PAGES = 16;
const THREAD_MEMORY_MB = 512;

interface WaitingReport {
  resolve: (report: Report | null) => void;
  reject: (error: unknown) => void;
}

interface CachedPage {
  head: string;
  madeAtMs: number;
  report: Promise<Report | null>;
}

const PAGE_CACHE_MS = 60_000;
const MAX_CACHED_PAGES = 32;

export interface ReportMakerOptions {
  ledgerPath: string;
  /** Returns the head of the ledger's chain. A cached report is valid only for the head at which it was made. */
  head: () => string;
}

/**
 * Creates a handle on the thread that reads and draws reports. The thread starts with the first request and ends when
 * it is idle.
 */
function createReportThread(ledgerPath: string) {
  const waiting = new Map<number, WaitingReport>();
  let worker: Worker | null = null;
  let lastId = 0;
  let endIdle: Cancel | null = null;

  const end = async (reason: AppError): Promise<void> => {
    const ended = worker;
    worker = null;
    for (const waiter of waiting.values()) waiter.reject(reason);
    waiting.clear();
    await ended?.terminate();
  };
  const start = (): Worker => {
    const started = new Worker(siblingModule(import.meta.url, 'report-thread'), {
      workerData: ledgerPath,
      resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB },
    });
    started.unref();
    started.on('message', (reply: ReportReply) => {
      const waiter = waiting.get(reply.id);
      waiting.delete(reply.id);
      if ('report' in reply) waiter?.resolve(reply.report);
      else waiter?.reject(unpackError(reply.error));
      rest();
    });
    started.on('error', (cause) => {
      if (worker !== started) return;
      void end(new AppError('report_failed', `could not render the page: ${cause.message}`, { cause }));
    });
    return started;
  };
  const rest = (): void => {
    endIdle?.();
    const retire = (): void => {
      if (waiting.size === 0) void end(new AppError('report_failed', 'the page thread has stopped'));
    };
    endIdle = systemClock.after(THREAD_IDLE_MS, retire, { background: true });
  };
  const make = (order: ReportOrder): Promise<Report | null> => {
    if (waiting.size >= MAX_WAITING_PAGES) {
      const hint = 'try again in a few seconds';
      return Promise.reject(
        new AppError('report_busy', 'too many pages are being rendered', { hint, retryable: true }),
      );
    }
    worker ??= start();
    lastId += 1;
    const id = lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Report | null>();
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, order });
    return promise;
  };
  const stop = (): Promise<void> => {
    endIdle?.();
    return end(new AppError('report_failed', 'the daemon is stopping'));
  };
  return { make, stop };
}

export type ReportMaker = ReturnType<typeof createReportMaker>;

export function createReportMaker({ ledgerPath, head }: ReportMakerOptions) {
  const thread = createReportThread(ledgerPath);
  const cache = new Map<string, CachedPage>();
  return {
    /**
     * Returns the figures and charts of a report, or null if the ledger has no data for it. Reports are cached until
     * the head of the chain changes, but at most for a minute, because names and alerts change without a new head.
     * Throws `report_busy` if too many pages wait.
     */
    report(order: ReportOrder): Promise<Report | null> {
      const { workspaceId, tenantId, period, nowMs } = order;
      const key = JSON.stringify([workspaceId, tenantId ?? null, period ?? null]);
      const now = head();
      const known = cache.get(key);
      if (known !== undefined && known.head === now && (ageMs(known.madeAtMs, nowMs) ?? PAGE_CACHE_MS) < PAGE_CACHE_MS)
        return known.report;
      const report = thread.make(order);
      cache.delete(key);
      cache.set(key, { head: now, madeAtMs: nowMs, report });
      report.catch(() => {
        if (cache.get(key)?.report === report) cache.delete(key);
      });
      for (const old of cache.keys()) if (cache.size > MAX_CACHED_PAGES) cache.delete(old);
      return report;
    },
    stop(): Promise<void> {
      cache.clear();
      return thread.stop();
    },
  };
}
