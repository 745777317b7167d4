import { Worker } from 'node:worker_threads';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WorkspaceConfig } from '../../../config/types.ts';
import { type Cancel, systemClock, type WallClock } from '../../../core/clock.ts';
import { AppError, unpackError } from '../../../core/errors.ts';
import { isPeriod } from '../../../core/period.ts';
import { siblingModule } from '../../../core/process/module-file.ts';
import { ageMs } from '../../../core/stored-time.ts';
import { htmlText } from '../../../core/text/html-text.ts';
import { HTML_TYPE, pageOf } from '../../../reports/page/page-parts.ts';
import type { ReportOrder, ReportReply } from './report-thread.ts';

/** The thread ends after this time without a request, because the chart library takes memory. */
const THREAD_IDLE_MS = 60_000;
/** Maximum number of waiting pages; further requests fail with `report_busy`. */
const MAX_WAITING_PAGES = 16;
const THREAD_MEMORY_MB = 512;

interface WaitingReport {
  resolve: (html: string | null) => void;
  reject: (error: unknown) => void;
}

interface CachedPage {
  head: string;
  madeAtMs: number;
  html: Promise<string | null>;
}

const PAGE_CACHE_MS = 60_000;
const MAX_CACHED_PAGES = 32;

export interface ReportMakerOptions {
  ledgerPath: string;
  /** Returns the head of the ledger's chain; a cached page is valid for one head. */
  head: () => string;
}

/** Creates a handle on the thread that renders pages. It starts with the first request and ends when idle. */
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
      if ('html' in reply) waiter?.resolve(reply.html);
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
  const make = (order: ReportOrder): Promise<string | null> => {
    if (waiting.size >= MAX_WAITING_PAGES) {
      const hint = 'try again in a few seconds';
      return Promise.reject(
        new AppError('report_busy', 'too many pages are being rendered', { hint, retryable: true }),
      );
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
    return end(new AppError('report_failed', 'the daemon is stopping'));
  };
  return { make, stop };
}

export function createReportMaker({ ledgerPath, head }: ReportMakerOptions) {
  const thread = createReportThread(ledgerPath);
  const cache = new Map<string, CachedPage>();
  return {
    /**
     * Returns the page as HTML, or null if the ledger has no data for it. Pages are cached until the head of the chain
     * changes, at most for a minute, because names and alerts change without a new head. Throws `report_busy` if too many
     * pages wait.
     */
    page(order: ReportOrder): Promise<string | null> {
      const { workspaceId, tenantId, period, nowMs } = order;
      const key = JSON.stringify([workspaceId, tenantId ?? null, period ?? null]);
      const now = head();
      const known = cache.get(key);
      if (known !== undefined && known.head === now && (ageMs(known.madeAtMs, nowMs) ?? PAGE_CACHE_MS) < PAGE_CACHE_MS)
        return known.html;
      const html = thread.make(order);
      cache.delete(key);
      cache.set(key, { head: now, madeAtMs: nowMs, html });
      html.catch(() => {
        if (cache.get(key)?.html === html) cache.delete(key);
      });
      for (const old of cache.keys()) if (cache.size > MAX_CACHED_PAGES) cache.delete(old);
      return html;
    },
    stop(): Promise<void> {
      cache.clear();
      return thread.stop();
    },
  };
}

export interface ReportPagesOptions {
  workspaces: () => readonly Pick<WorkspaceConfig, 'id' | 'name' | 'timezone' | 'alerts'>[];
  maker: ReturnType<typeof createReportMaker>;
  clock: WallClock;
}

/**
 * Serves `/report?workspace=&period=` and `/report/tenant?workspace=&tenant=&period=`. `workspace` is optional if only one
 * is configured.
 */
export function addReportPages(
  app: FastifyInstance,
  { workspaces: configured, maker, clock }: ReportPagesOptions,
): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply, tenantId?: string): Promise<FastifyReply> => {
    const workspaces = configured();
    const { workspace, period } = queryOf(request);
    const wanted = workspace ?? (workspaces.length === 1 ? workspaces[0]?.id : undefined);
    if (wanted === undefined) return reply.type(HTML_TYPE).send(choicePage(workspaces));
    const found = workspaces.find(({ id }) => id === wanted);
    if (period !== undefined && !isPeriod(period)) {
      return reply.code(400).send({ error: 'bad_request', hint: 'write the month as YYYY-MM' });
    }
    if (found === undefined) return reply.code(404).send({ error: 'not_found', hint: 'name a configured workspace' });
    const budgets = found.alerts.budgets ?? [];
    const { id: workspaceId, timezone } = found;
    const order = { workspaceId, period, tenantId, nowMs: clock.now(), timezone, budgets };
    try {
      const html = await maker.page(order);
      if (html !== null) return reply.type(HTML_TYPE).send(html);
      return reply.code(404).send({ error: 'not_found', hint: 'the ledger has no data for it' });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'report_busy') throw error;
      return reply.code(503).header('retry-after', '5').send({ error: error.code, hint: error.hint });
    }
  };
  app.get('/report', (request, reply) => answer(request, reply));
  app.get('/report/tenant', (request, reply) => {
    const { tenant } = queryOf(request);
    if (tenant !== undefined) return answer(request, reply, tenant);
    return reply.code(400).send({ error: 'bad_request', hint: 'name the tenant: /report/tenant?tenant=ID' });
  });
}

function queryOf({ query }: FastifyRequest): Record<'workspace' | 'period' | 'tenant', string | undefined> {
  const given = query as Record<string, unknown>;
  const one = (name: string) => (typeof given[name] === 'string' ? given[name] : undefined);
  return { workspace: one('workspace'), period: one('period'), tenant: one('tenant') };
}

function choicePage(workspaces: readonly { id: string; name: string }[]): string {
  const items = workspaces.map(({ id, name }) => {
    const address = `/report?${new URLSearchParams({ workspace: id })}`;
    return `<li><a href="${htmlText(address)}">${htmlText(name)}</a> <span class="quiet">${htmlText(id)}</span></li>`;
  });
  return pageOf('Usage by workspace', `<ul>${items.join('')}</ul>`);
}
