import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { isoTime } from '../../src/core/clock.ts';
import { HOUR_MS } from '../../src/core/durations.ts';
import { addPeriods, periodAt, periodIndex, periodRange } from '../../src/core/period.ts';
import type { SlotKind } from '../../src/ledger/journal/runs/slot-log.ts';
import type { StagedRecord } from '../../src/ledger/journal/staging/staged-record.ts';
import type { Writer } from '../../src/writer/writer.ts';
import { openInProcessWriter } from './in-process-writer.ts';
import { listingOf } from './run/listing.ts';
import { LOG_ROUTES, realRun } from './run/real-run.ts';

export interface LedgerSize {
  workspaces: number;
  tenantsEach: number;
  /** Months with usage of every tenant; the current one is the last. */
  months: number;
  /** How many of the oldest months each workspace has closed. */
  closedMonths: number;
  /** Tenants whose usage jumps in the current month. */
  jumps: number;
}

/** The schedule of workspaces that no daemon reads while it is measured. */
const YEARLY = { cron: '0 0 1 1 *', reconcile_cron: '0 0 1 1 *' };

const CARD = { name: 'standard', currency: 'EUR', from_period: '2020-01', price_per_credit: '0.01' } as const;
const RECORDS_PER_PAGE = 5000;
/** A jump needs a limit of 1.5 times the previous month. */
const JUMP_FACTOR = 10;

export function workspaceIds({ workspaces }: Pick<LedgerSize, 'workspaces'>): string[] {
  return Array.from({ length: workspaces }, (_, index) => `ws-${String(index + 1).padStart(3, '0')}`);
}

/** Settings that read these workspaces from a service which is not there, and never before the next year. */
export function ledgerSettings(size: Pick<LedgerSize, 'workspaces'>) {
  return {
    defaults: { base_url: 'http://127.0.0.1:9', embed_url: 'http://127.0.0.1:9', ...YEARLY },
    workspaces: workspaceIds(size).map((id, index) => ({
      id,
      name: workspaceName(index),
      api_key_id: `ak_${id}`,
      secret_key: `sk_of_${id}_not_a_secret`,
    })),
    alerts: { channels: [{ type: 'log' }] },
  };
}

function workspaceName(index: number): string {
  return `Workspace ${index + 1}`;
}

/**
 * Makes a ledger of this size at `path` by the program's own runs, closes, prices and imports, without a network. Its last
 * run ended at `nowMs`. Returns the number of its records.
 */
export async function makeLedger(path: string, size: LedgerSize, nowMs: number): Promise<number> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const startMs = nowMs - 3 * HOUR_MS;
  const writer = await openInProcessWriter({ path, version: '0.0.0', nowMs: startMs, routes: LOG_ROUTES });
  try {
    await writer.setCards({ cards: [CARD], costs: null, source: 'import', nowMs: startMs });
    let records = 0;
    for (const [index, workspaceId] of workspaceIds(size).entries()) {
      records += await fillWorkspace({ writer, workspaceId, index, size, nowMs });
    }
    return records;
  } finally {
    await writer.close();
  }
}

interface Filling {
  writer: Writer;
  workspaceId: string;
  index: number;
  size: LedgerSize;
  nowMs: number;
}

async function fillWorkspace({ writer, workspaceId, index, size, nowMs }: Filling): Promise<number> {
  const current = periodAt(nowMs);
  const previous = addPeriods(current, -1);
  const first = addPeriods(current, 1 - size.months);
  const run = (records: readonly StagedRecord[], from: string, kind: SlotKind, atMs: number) =>
    realRun({
      writer,
      source: listingOf(workspaceId, records, RECORDS_PER_PAGE),
      now: () => atMs,
      workspace: { id: workspaceId, name: workspaceName(index), perPage: RECORDS_PER_PAGE },
      window: { from, to: current },
      kind,
      slot: isoTime(slotAt(nowMs)),
    });
  const tenants = Array.from({ length: size.tenantsEach }, (_, at) => `tenant-${index + 1}-${at + 1}`);
  const all = recordsOf(tenants, periodRange(first, current));
  await run(all, first, 'reconcile', nowMs - 3 * HOUR_MS);
  const names = tenants.map((tenantId, at) => ({
    tenantId,
    displayName: `Customer ${at + 1} of workspace ${index + 1}`,
    externalRef: `C-${index + 1}-${at + 1}`,
    labels: { plan: at % 3 === 0 ? 'enterprise' : 'team' },
  }));
  await writer.importNames({ workspaceId, names, dryRun: false, nowMs: nowMs - 3 * HOUR_MS });
  for (const period of periodRange(first, addPeriods(first, size.closedMonths - 1))) {
    await writer.closePeriod({
      ...{ workspaceId, period, by: 'Ada', note: 'invoices', force: true, settleHours: 48, maxChange: null },
      nowMs: nowMs - 2 * HOUR_MS,
    });
  }
  const jumping = new Set(tenants.slice(0, jumpsOf(index, size)));
  const latest = recordsOf(tenants, [previous, current]).map((record) =>
    record.period === current && jumping.has(record.tenantId)
      ? { ...record, credits: Number(record.credits) * JUMP_FACTOR }
      : record,
  );
  await run(latest, previous, 'scheduled', nowMs - HOUR_MS);
  return all.length;
}

/** Returns the latest slot of `YEARLY`, which the runs did. */
function slotAt(nowMs: number): number {
  return Date.UTC(new Date(nowMs).getUTCFullYear(), 0, 1);
}

/** Spreads the jumps over the workspaces. */
function jumpsOf(index: number, { jumps, workspaces }: LedgerSize): number {
  return Math.floor(jumps / workspaces) + (index < jumps % workspaces ? 1 : 0);
}

function recordsOf(tenants: readonly string[], periods: readonly string[]): StagedRecord[] {
  return periods.flatMap((period) =>
    tenants.map((tenantId, at) => {
      const requests = 100 + ((at * 7919) % 900);
      return { tenantId, period, credits: requests * (20 + ((at + periodIndex(period)) % 4)), requests };
    }),
  );
}
