import Database from 'better-sqlite3';
import { commitClose } from '../../../../../src/ledger/journal/charges/commit-close.ts';
import { closePeriod, reopenPeriod } from '../../../../../src/ledger/journal/close/close-period.ts';
import { recordReconciliation } from '../../../../../src/ledger/journal/close/record-reconciliation.ts';
import { resumeWorkspace, retireWorkspace } from '../../../../../src/ledger/journal/retire-workspace.ts';
import { failRun } from '../../../../../src/ledger/journal/runs/fail-run.ts';
import type { StagedRecord } from '../../../../../src/ledger/journal/staging/staged-record.ts';
import { registerRowDigest } from '../../../../../src/ledger/store/file/row-digest.ts';
import type { LedgerDb } from '../../../../../src/ledger/store/ledger-db.ts';
import { migrateInMemory } from '../../../../../src/ledger/store/schema/migrate.ts';
import { beginRun, usageRecord } from '../../../../support/open-ledger.ts';
import { listingOf } from '../../../../support/run/listing.ts';
import { realRun, writerOn } from '../../../../support/run/real-run.ts';
import type { Applied } from '../../../../support/sandbox-fixture.ts';
import { addGuardedRows } from './guarded-rows.ts';

const HOUR_MS = 3_600_000;
const PER_PAGE = 4;

/** What the service lists of one workspace; two workspaces list tenants and periods of the same names. */
type Listing = Map<string, StagedRecord>;

let image: Promise<Buffer> | undefined;

/**
 * A ledger with everything that one can hold: two workspaces, five kinds of entries, runs that changed nothing, failed
 * and were superseded, closes, forced closes, adjustments, a reopen and a second close, and a period that exists only
 * because something was booked in it. Each is a copy of one that is built once.
 */
export async function buildRichLedger(): Promise<LedgerDb> {
  image ??= build().then((connection) => connection.serialize());
  const connection = new Database(await image);
  registerRowDigest(connection);
  return connection;
}

async function build(): Promise<LedgerDb> {
  const connection: LedgerDb = new Database(':memory:');
  migrateInMemory(connection);
  let nowMs = Date.UTC(2025, 11, 20, 12);
  const listings: Record<string, Listing> = { 'ws-1': new Map(), 'ws-2': new Map() };
  const set = (workspaceId: string, tenant: string, period: string, credits: number | bigint): void => {
    listings[workspaceId]?.set(`${period} ${tenant}`, usageRecord(tenant, credits, period));
  };
  const remove = (workspaceId: string, tenant: string, period: string): void => {
    listings[workspaceId]?.delete(`${period} ${tenant}`);
  };
  const writer = writerOn(connection);
  const sync = (workspaceId: string): Promise<Applied> => {
    nowMs += HOUR_MS;
    const source = listingOf(workspaceId, [...(listings[workspaceId]?.values() ?? [])], PER_PAGE);
    const workspace = { id: workspaceId, perPage: PER_PAGE, consistency: 'twice' } as const;
    return realRun({ writer, source, now: () => nowMs, workspace });
  };
  const event = (workspaceId: string, period: string, note: string) => {
    nowMs += HOUR_MS;
    return { workspaceId, period, by: 'Ada "A." Lovelace', note, nowMs };
  };
  const reconcile = (workspaceId: string, period: string, tenantIds: string[]): void => {
    const closes = connection.prepare(
      `SELECT digest FROM finance_closes WHERE workspace_id = ? AND period = ? ORDER BY event_seq DESC LIMIT 1`,
    );
    recordReconciliation(connection, {
      ...event(workspaceId, period, 'run 12'),
      closeDigest: String(closes.pluck().get(workspaceId, period)),
      file: { name: 'invoices.csv', sha256: 'ab'.repeat(32) },
      counts: { matched: tenantIds.length, missing: 1, extra: 0, different: 2 },
      tolerance: '0.01',
      amounts: [{ currency: 'EUR', ledger: '12.50', invoice: '12.49' }],
      numbers: tenantIds.map((tenantId) => ({ tenantId, currency: 'EUR', number: `R-${tenantId}` })),
    });
  };
  const close = (workspaceId: string, period: string, force: boolean): void => {
    closePeriod(
      connection,
      { ...event(workspaceId, period, `month end\n${period}`), force, settleHours: 48 },
      commitClose,
    );
  };

  for (const workspaceId of ['ws-1', 'ws-2']) {
    for (const period of ['2025-11', '2025-12']) {
      for (const [index, tenant] of ['acme', 'globex', 'a "b"\n\u2028名', 'steady', 'leaves'].entries()) {
        set(workspaceId, tenant, period, 100 + 10 * index);
      }
    }
    set(workspaceId, 'huge', '2025-12', 9_007_199_254_740_993n);
    await sync(workspaceId);
  }
  nowMs = Date.UTC(2026, 0, 10, 12);
  set('ws-1', 'acme', '2026-01', 50);
  set('ws-1', 'globex', '2025-12', 90);
  set('ws-2', 'acme', '2026-01', 70);
  remove('ws-1', 'leaves', '2025-12');
  remove('ws-1', 'steady', '2025-12');
  await sync('ws-1');
  addGuardedRows(connection, nowMs);
  await sync('ws-2');
  const end = { workspaceId: 'ws-2', by: 'Ada', note: 'by mistake', nowMs };
  retireWorkspace(connection, { ...end, elsewhere: false }, () => undefined);
  resumeWorkspace(connection, end, () => undefined);
  await sync('ws-1'); // withdraws both
  set('ws-1', 'steady', '2025-12', 130);
  await sync('ws-1'); // restores one
  await sync('ws-1'); // nothing changed
  nowMs += 13 * HOUR_MS;
  await sync('ws-1');
  close('ws-1', '2025-11', false);
  close('ws-1', '2025-12', true);
  close('ws-2', '2025-12', true);
  loseRuns(connection, nowMs);

  nowMs = Date.UTC(2026, 1, 3, 12);
  set('ws-1', 'acme', '2025-12', 175);
  set('ws-1', 'late', '2025-12', 11);
  set('ws-1', 'acme', '2025-11', 99);
  set('ws-2', 'huge', '2025-12', 9_007_199_254_740_999n);
  set('ws-1', 'acme', '2026-02', 5);
  await sync('ws-1');
  await sync('ws-2');
  remove('ws-1', 'globex', '2025-12');
  await sync('ws-1');
  await sync('ws-1'); // withdraws in a closed period
  reopenPeriod(connection, event('ws-1', '2025-12', 'the service corrected it'));
  set('ws-1', 'acme', '2025-12', 180);
  await sync('ws-1');
  close('ws-1', '2025-12', true);
  set('ws-1', 'acme', '2025-12', 190);
  set('ws-1', 'globex', '2025-12', 95);
  await sync('ws-1');
  close('ws-2', '2025-11', true);
  close('ws-2', '2026-01', true);
  reconcile('ws-1', '2025-12', ['acme', 'globex']);
  reconcile('ws-2', '2026-01', ['globex']);
  set('ws-2', 'globex', '2026-01', 12);
  await sync('ws-2'); // books in a period that the service has not named yet
  connection.exec("UPDATE alerts SET severity = 'warning' WHERE alert_id = 'al_2'"); // covered by no run yet
  return connection;
}

/** A run that failed, and one whose lease ran out while it walked. */
function loseRuns(connection: LedgerDb, nowMs: number): void {
  const failed = beginRun(connection, { nowMs });
  failRun(
    connection,
    failed.run,
    { status: 'failed', code: 'http_503', message: 'away', pages: 1, records: 3 },
    nowMs + 1,
  );
  beginRun(connection, { workspaceId: 'ws-2', nowMs });
  const taker = beginRun(connection, { workspaceId: 'ws-2', nowMs: nowMs + HOUR_MS });
  failRun(
    connection,
    taker.run,
    { status: 'unstable', code: 'unstable', message: 'it moved', pages: 1, records: 3 },
    nowMs + HOUR_MS,
  );
}
