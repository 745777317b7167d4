import { Worker } from 'node:worker_threads';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WorkspaceConfig } from '../../../config/types.ts';
import { type Cancel, systemClock, type WallClock } from '../../../core/clock.ts';
import { AppError, unpackError } from '../../../core/errors.ts';
import { isPeriod } from '../../../core/period.ts';
import { siblingModule } from '../../../core/process/module-file.ts';
import { ageMs } from '../../../core/stored-time.ts';
import { htmlText } from '../../../core/text/html-text.ts';
import { pageOf } from '../../../reports/page/page-parts.ts';
import type { ReportOrder, ReportReply } from './report-thread.ts';

/** A thread that nobody has asked for so long is ended: what draws takes memory. */
const IDLE_MS = 60_000;
/** Pages that wait at once; whoever asks for more is told to come again. */
const MOST_WAITING = 16;
const MEMORY_MB = 512;

interface Waiting {
  resolve: (html: string | null) => void;
  reject: (error: unknown) => void;
}

interface Kept {
  head: string;
  madeAtMs: number;
  html: Promise<string | null>;
}

const PAGE_KEPT_MS = 60_000;
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
    const started = new Worker(siblingModule(import.meta.url, 'report-thread'), {
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

export function createReportMaker({ ledgerPath, head }: ReportMakerOptions) {
  const thread = createReportThread(ledgerPath);
  const kept = new Map<string, Kept>();
  return {
    /**
     * The page as HTML, or null when the ledger has nothing of it. A page is kept while the head of the ledger's chain
     * stands, for a minute at most: names and alerts change without it. Throws `report_busy` when too many pages wait.
     */
    page(order: ReportOrder): Promise<string | null> {
      const { workspaceId, tenantId, period, nowMs } = order;
      const key = JSON.stringify([workspaceId, tenantId ?? null, period ?? null]);
      const now = head();
      const known = kept.get(key);
      if (known !== undefined && known.head === now && (ageMs(known.madeAtMs, nowMs) ?? PAGE_KEPT_MS) < PAGE_KEPT_MS)
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
    stop(): Promise<void> {
      kept.clear();
      return thread.stop();
    },
  };
}

export interface ReportPagesOptions {
  workspaces: () => readonly Pick<WorkspaceConfig, 'id' | 'name' | 'alerts'>[];
  maker: ReturnType<typeof createReportMaker>;
  clock: WallClock;
}

const HTML = 'text/html; charset=utf-8';

/** Serves `/report?workspace=&period=` and `/report/tenant?workspace=&tenant=&period=`; the only workspace need not be named. */
export function addReportPages(
  app: FastifyInstance,
  { workspaces: configured, maker, clock }: ReportPagesOptions,
): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply, tenantId?: string): Promise<FastifyReply> => {
    const workspaces = configured();
    const { workspace, period } = queryOf(request);
    const wanted = workspace ?? (workspaces.length === 1 ? workspaces[0]?.id : undefined);
    if (wanted === undefined) return reply.type(HTML).send(choicePage(workspaces));
    const found = workspaces.find(({ id }) => id === wanted);
    if (period !== undefined && !isPeriod(period)) {
      return reply.code(400).send({ error: 'bad_request', hint: 'write the month as YYYY-MM' });
    }
    if (found === undefined)
      return reply.code(404).send({ error: 'not_found', hint: 'no such workspace is configured' });
    const budgets = found.alerts.budgets ?? [];
    const order = { workspaceId: found.id, period, tenantId, nowMs: clock.now(), budgets };
    try {
      const html = await maker.page(order);
      if (html !== null) return reply.type(HTML).send(html);
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
