import { Worker } from 'node:worker_threads';
import { type Cancel, systemClock } from '../../../core/clock.ts';
import { unpackError } from '../../../core/crossing-errors.ts';
import { AppError } from '../../../core/errors.ts';
import { ageMs } from '../../../core/stored-time.ts';
import type { ReportOrder, ReportReply } from './report-thread.ts';

/** A thread that nobody has asked for so long is ended: what draws takes memory. */
const IDLE_MS = 60_000;
/** Pages that wait at once; whoever asks for more is told to come again. */
const MOST_WAITING = 16;
const MEMORY_MB = 512;

export interface ReportMaker {
  /**
   * The page as HTML, or null when the ledger has nothing of it. A page is kept while the head of the ledger's chain stands,
   * for a minute at most: names and alerts change without it.
   *
   * @throws AppError `report_busy` when too many pages wait.
   */
  page(order: ReportOrder): Promise<string | null>;
  /** Ends the thread, whatever it does. May be called twice. */
  stop(): Promise<void>;
}

interface Waiting {
  resolve: (html: string | null) => void;
  reject: (error: unknown) => void;
}

interface Kept {
  head: string;
  madeAtMs: number;
  html: Promise<string | null>;
}

const KEPT_MS = 60_000;
const MOST_KEPT = 32;

export interface ReportMakerOptions {
  ledgerPath: string;
  /** The head of the ledger's chain: another one, another page. */
  head: () => string;
}

/** The thread that makes pages: started with the first one, ended when nobody asks any more. */
function createReportThread(ledgerPath: string) {
  const waiting = new Map<number, Waiting>();
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
    const started = new Worker(new URL('./report-thread.js', import.meta.url), {
      workerData: ledgerPath,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    started.unref();
    started.on('message', (reply: ReportReply) => {
      const waiter = waiting.get(reply.id);
      waiting.delete(reply.id);
      if ('html' in reply) waiter?.resolve(reply.html);
      else waiter?.reject(unpackError(reply.error));
      rest();
    });
    started.on('error', (cause) => {
      if (worker !== started) return;
      void end(new AppError('report_failed', `the page cannot be made: ${cause.message}`, { cause }));
    });
    return started;
  };
  const rest = (): void => {
    endIdle?.();
    const retire = (): void => {
      if (waiting.size === 0) void end(new AppError('report_failed', 'the thread was ended'));
    };
    endIdle = systemClock.after(IDLE_MS, retire, { background: true });
  };
  const make = (order: ReportOrder): Promise<string | null> => {
    if (waiting.size >= MOST_WAITING) {
      const hint = 'ask again in a moment';
      return Promise.reject(new AppError('report_busy', 'too many pages are being made', { hint, retryable: true }));
    }
    worker ??= start();
    lastId += 1;
    const id = lastId;
    const { promise, resolve, reject } = Promise.withResolvers<string | null>();
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, order });
    return promise;
  };
  const stop = (): Promise<void> => {
    endIdle?.();
    return end(new AppError('report_failed', 'the daemon stops'));
  };
  return { make, stop };
}

/** Makes pages in a thread of its own, and keeps them for as long as they are true. */
export function createReportMaker({ ledgerPath, head }: ReportMakerOptions): ReportMaker {
  const thread = createReportThread(ledgerPath);
  const kept = new Map<string, Kept>();
  return {
    page(order) {
      const { workspaceId, tenantId, period, nowMs } = order;
      const key = JSON.stringify([workspaceId, tenantId ?? null, period ?? null]);
      const now = head();
      const known = kept.get(key);
      if (known !== undefined && known.head === now && (ageMs(known.madeAtMs, nowMs) ?? KEPT_MS) < KEPT_MS)
        return known.html;
      const html = thread.make(order);
      kept.delete(key);
      kept.set(key, { head: now, madeAtMs: nowMs, html });
      html.catch(() => {
        if (kept.get(key)?.html === html) kept.delete(key);
      });
      for (const old of kept.keys()) if (kept.size > MOST_KEPT) kept.delete(old);
      return html;
    },
    stop() {
      kept.clear();
      return thread.stop();
    },
  };
}
