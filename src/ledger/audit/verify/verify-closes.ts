import { hash } from 'node:crypto';
import { numberOf, seriesOf } from '../../journal/charges/statement-numbers.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { closeCommitments, closedUsage, letterheads, periodEvents } from '../../store/schema/billing-tables.ts';
import { asc, eq, isNull, ne, notInArray, query, sql } from '../../store/schema/drizzle.ts';
import { periods, tenants } from '../../store/schema/workspace-tables.ts';
import { sumUsage } from '../../store/sum-usage.ts';
import { FAULTS_PER_CHECK, type Fault, fault } from './fault.ts';

interface ClosedPeriod {
  periodKey: number;
  period: string;
  workspaceId: string;
  eventSeq: number | null;
  action: string | null;
  lastEntryId: number;
  tenants: bigint;
  creditsUsed: bigint;
  requestCount: bigint;
}

/**
 * Checks closes: a period is closed exactly when its latest event is a close; its frozen figures are, key by key, the
 * sums of the entries up to that close; the totals of the frozen figures match the event. Only closes have commitments.
 */
export function verifyCloses(connection: LedgerDb): Fault[] {
  const faults: Fault[] = [];
  const add = (where: string, message: string): void => {
    if (faults.length < FAULTS_PER_CHECK) faults.push(fault('closes', `${where}: ${message}`));
  };
  const mismatched = connection
    .prepare(
      `SELECT w.workspace_id AS workspaceId, p.period FROM periods p JOIN workspaces w USING (workspace_key)
       WHERE p.closed_seq IS NOT (
         SELECT CASE e.action WHEN 'close' THEN e.event_seq END FROM period_events e
         WHERE e.period_key = p.period_key ORDER BY e.event_seq DESC LIMIT 1)`,
    )
    .all() as { workspaceId: string; period: string }[];
  for (const { workspaceId, period } of mismatched) {
    add(`${period} of workspace ${JSON.stringify(workspaceId)}`, 'its state does not match its latest close or reopen');
  }
  for (const workspaceId of mismatchedRetirements(connection)) {
    add(`workspace ${JSON.stringify(workspaceId)}`, 'its retirement does not match the latest link about it');
  }
  const db = query(connection);
  const { eventSeq: seq, action: kind } = periodEvents;
  const misplaced = db
    .select({ eventSeq: seq, action: kind, period: periods.period })
    .from(periodEvents)
    .innerJoin(periods, eq(periods.periodKey, periodEvents.periodKey))
    .where(ne(periods.workspaceKey, periodEvents.workspaceKey))
    .orderBy(asc(seq))
    .all();
  for (const { eventSeq, action, period } of misplaced) {
    add(`${action} of ${period} (link ${eventSeq} of the chain)`, 'its period belongs to another workspace');
  }
  const strays = db
    .select({ period: periods.period, tenantId: tenants.tenantId })
    .from(closedUsage)
    .leftJoin(periods, eq(periods.periodKey, closedUsage.periodKey))
    .leftJoin(tenants, eq(tenants.tenantKey, closedUsage.tenantKey))
    .where(isNull(periods.closedSeq))
    .limit(FAULTS_PER_CHECK)
    .all();
  for (const { period, tenantId } of strays) {
    add(`closed figure of tenant ${JSON.stringify(tenantId)} in ${period}`, 'its period is not closed');
  }
  const { eventSeq } = closeCommitments;
  const closes = db.select({ seq: periodEvents.eventSeq }).from(periodEvents).where(eq(periodEvents.action, 'close'));
  const unclosed = db
    .select({ eventSeq })
    .from(closeCommitments)
    .where(notInArray(eventSeq, closes))
    .orderBy(asc(eventSeq))
    .limit(FAULTS_PER_CHECK)
    .all();
  for (const each of unclosed) add(`commitment of link ${each.eventSeq} of the chain`, 'that link is not a close');
  // Code that reads a salt skips characters that are not hex digits. If such characters were added to a salt, no digest
  // would reveal that.
  const { salt } = closeCommitments;
  const saltless = db
    .select({ seq, period: periods.period })
    .from(closeCommitments)
    .innerJoin(periodEvents, eq(seq, eventSeq))
    .innerJoin(periods, eq(periods.periodKey, periodEvents.periodKey))
    .where(sql`length(${salt}) <> 64 OR ${salt} GLOB '*[^0-9a-f]*'`)
    .orderBy(asc(eventSeq))
    .limit(FAULTS_PER_CHECK)
    .all();
  for (const each of saltless) {
    add(`close of ${each.period} (link ${each.seq} of the chain)`, 'its salt is invalid');
  }
  const periodOf = connection.prepare(
    'SELECT period FROM period_events JOIN periods USING (period_key) WHERE event_seq = ?',
  );
  for (const closeSeq of misnumberedCloses(connection)) {
    const period = String(periodOf.pluck().get(closeSeq));
    add(`close of ${period} (link ${closeSeq} of the chain)`, 'its statement numbers do not continue the series');
  }
  for (const closeSeq of missingLetterheads(connection)) {
    const period = String(periodOf.pluck().get(closeSeq));
    add(`close of ${period} (link ${closeSeq} of the chain)`, 'its letterhead is missing or was changed');
  }
  for (const actSeq of unexpectedReconciliations(connection)) {
    add(`reconciliation of link ${actSeq} of the chain`, 'it does not match that link');
  }
  for (const closed of readClosed(connection)) {
    const where = `${closed.period} of workspace ${JSON.stringify(closed.workspaceId)}`;
    const differing = firstDifferingFigure(connection, closed);
    if (differing !== null) {
      add(where, `the closed figure of tenant ${JSON.stringify(differing)} is not the sum of its entries`);
      continue;
    }
    const { tenants, creditsUsed, requestCount } = sumUsage(connection, closed.periodKey, 'closed');
    const totals = [tenants, creditsUsed, requestCount].join(', ');
    const expected = [closed.tenants, closed.creditsUsed, closed.requestCount].join(', ');
    if (totals !== expected) add(where, `the closed figures sum to ${totals}, the close recorded ${expected}`);
  }
  return faults;
}

/** Lists the workspaces whose `ended_seq` does not match the latest link that retired or resumed them. */
function mismatchedRetirements(connection: LedgerDb): string[] {
  const rows = connection.prepare(
    `SELECT w.workspace_id FROM workspaces w WHERE w.ended_seq IS NOT (
       SELECT CASE e.action WHEN 'resume' THEN NULL ELSE e.act_seq END FROM acts e
       WHERE e.workspace_key = w.workspace_key AND e.action IN ('end', 'elsewhere', 'resume') ORDER BY e.act_seq DESC LIMIT 1)`,
  );
  return rows.pluck().all() as string[];
}

/**
 * Lists the closes whose statement numbers do not continue their series with one number per statement, in the order of
 * tenant ids. Also lists the closes that have numbers although they assigned none, or that have numbers of another
 * period.
 */
function misnumberedCloses(connection: LedgerDb): number[] {
  const closes = connection
    .prepare(
      'SELECT event_seq, number_form, last_number FROM close_commitments WHERE number_form IS NOT NULL ORDER BY 1',
    )
    .raw()
    .all() as [closeSeq: number, form: string, last: number][];
  const given = connection
    .prepare(
      `SELECT number FROM statement_numbers JOIN tenants USING (tenant_key)
       WHERE close_seq = ? AND period_key = (SELECT period_key FROM period_events WHERE event_seq = ?) ORDER BY tenant_id`,
    )
    .pluck();
  const lasts = new Map<string, number>();
  const unexpected = closes.filter(([closeSeq, form, last]) => {
    let next = lasts.get(seriesOf(form)) ?? 0;
    let fits = true;
    for (const number of given.iterate(closeSeq, closeSeq)) {
      next += 1;
      fits &&= number === numberOf(form, next);
    }
    lasts.set(seriesOf(form), last);
    return !fits || next !== last;
  });
  const strays = connection.prepare(
    `SELECT DISTINCT close_seq FROM statement_numbers n LEFT JOIN period_events e ON e.event_seq = n.close_seq
     WHERE e.period_key IS NOT n.period_key
       OR close_seq NOT IN (SELECT event_seq FROM close_commitments WHERE number_form IS NOT NULL)
     UNION SELECT event_seq FROM close_commitments WHERE (number_form IS NULL) <> (last_number IS NULL)`,
  );
  return [...unexpected.map(([closeSeq]) => closeSeq), ...(strays.pluck().all() as number[])];
}

/** Lists the closes whose letterhead is missing or does not have the hash that the close recorded. */
function missingLetterheads(connection: LedgerDb): number[] {
  const kept = query(connection).select().from(letterheads).all();
  const known = new Set(
    kept.filter(({ sha256, content }) => hash('sha256', content, 'hex') === sha256).map((one) => one.sha256),
  );
  const { eventSeq, letterhead } = closeCommitments;
  const closes = query(connection).select({ eventSeq, letterhead }).from(closeCommitments).orderBy(asc(eventSeq)).all();
  const lost = closes.filter((close) => close.letterhead !== null && !known.has(close.letterhead));
  return lost.slice(0, FAULTS_PER_CHECK).map((close) => close.eventSeq);
}

/**
 * Lists the reconciliations that do not belong to an earlier close in the workspace of their link. Also lists those
 * that were changed after their link was recorded, or whose invoice numbers were. The triggers alone do not reveal such
 * rows, because any program can define the function that the triggers call.
 */
function unexpectedReconciliations(connection: LedgerDb): number[] {
  const rows = connection.prepare(
    `SELECT coalesce(r.act_seq, a.act_seq) AS seq FROM (SELECT * FROM acts WHERE action = 'reconcile') a
       FULL JOIN reconciliations r ON r.act_seq = a.act_seq
       LEFT JOIN period_events e ON e.event_seq = r.close_seq AND e.event_seq < r.act_seq AND e.action = 'close'
         AND e.period_key = r.period_key AND e.workspace_key = a.workspace_key
       WHERE e.event_seq IS NULL
     UNION SELECT n.act_seq FROM invoice_numbers n LEFT JOIN reconciliations r USING (act_seq)
       WHERE r.period_key IS NOT n.period_key OR r.close_seq IS NOT n.close_seq
     UNION SELECT CAST(c.row_key AS INTEGER) FROM row_changes c LEFT JOIN acts a ON a.act_seq = CAST(c.row_key AS INTEGER)
       WHERE c.table_name IN ('reconciliations', 'invoice_numbers') AND c.change_seq > coalesce(a.last_change_seq, 0)
     ORDER BY seq LIMIT ${FAULTS_PER_CHECK}`,
  );
  return rows.pluck().all() as number[];
}

/**
 * Checks adjustments. In a closed period, a tenant's frozen figures plus its adjustments must equal its current
 * figures; in an open period, the adjustments must sum to zero. The workspace and time of each correction must match
 * its entry, and those of each reversal must match its reopen. Each adjustment must be booked in the first later month
 * that was open at that time.
 */
export function checkAdjustments(connection: LedgerDb): Fault[] {
  return [
    ...unexpectedAdjustments(connection).map(({ adjustmentId, entryId, runId }) => {
      const message = `adjustment ${adjustmentId} does not match its entry or reopen`;
      return fault('adjustments', message, { runId, entryId });
    }),
    ...misbookedAdjustments(connection).map((adjustmentId) => {
      const message = `adjustment ${adjustmentId} is not booked in the first month that was open then`;
      return fault('adjustments', message);
    }),
    ...differingKeys(connection).map(({ workspaceId, period, tenantId }) => {
      const key = `tenant ${JSON.stringify(tenantId)} in ${period} of workspace ${JSON.stringify(workspaceId)}`;
      return fault('adjustments', `the adjustments of ${key} do not lead to its current figures`);
    }),
  ];
}

function differingKeys(connection: LedgerDb) {
  return connection
    .prepare(
      `WITH sums AS (
         SELECT corrects_period_key AS period_key, tenant_key, sum(credits_delta) AS credits, sum(requests_delta) AS requests
         FROM adjustments GROUP BY corrects_period_key, tenant_key),
       touched AS (
         SELECT period_key, tenant_key FROM sums
         UNION SELECT u.period_key, u.tenant_key FROM tenant_usage u JOIN periods p USING (period_key)
         WHERE p.closed_seq IS NOT NULL)
       SELECT w.workspace_id AS workspaceId, p.period, t.tenant_id AS tenantId
       FROM touched k
       LEFT JOIN sums s USING (period_key, tenant_key)
       LEFT JOIN periods p USING (period_key)
       LEFT JOIN workspaces w ON w.workspace_key = p.workspace_key
       LEFT JOIN tenants t USING (tenant_key)
       LEFT JOIN tenant_usage u USING (period_key, tenant_key)
       LEFT JOIN closed_usage c USING (period_key, tenant_key)
       WHERE coalesce(s.credits, 0) <> CASE WHEN p.closed_seq IS NULL THEN 0
           ELSE coalesce(u.credits_used, 0) - coalesce(c.credits_used, 0) END
         OR coalesce(s.requests, 0) <> CASE WHEN p.closed_seq IS NULL THEN 0
           ELSE coalesce(u.request_count, 0) - coalesce(c.request_count, 0) END
       LIMIT ${FAULTS_PER_CHECK}`,
    )
    .all() as { workspaceId: string; period: string; tenantId: string }[];
}

function unexpectedAdjustments(connection: LedgerDb) {
  return connection
    .prepare(
      `SELECT a.adjustment_id AS adjustmentId, a.entry_id AS entryId, r.run_id AS runId
       FROM adjustments a
       LEFT JOIN usage_entries e ON e.entry_id = a.entry_id
       LEFT JOIN runs r ON r.run_key = a.run_key
       LEFT JOIN period_events v ON v.event_seq = a.event_seq
       LEFT JOIN periods p ON p.period_key = a.corrects_period_key
       LEFT JOIN periods b ON b.period_key = a.booked_period_key
       LEFT JOIN tenants t ON t.tenant_key = a.tenant_key
       WHERE (a.event_seq IS NULL AND (e.entry_id IS NULL OR e.run_key <> a.run_key
           OR e.period_key <> a.corrects_period_key OR e.tenant_key <> a.tenant_key
           OR e.credits_delta <> a.credits_delta OR e.requests_delta <> a.requests_delta))
         OR (a.event_seq IS NOT NULL AND (v.action IS NOT 'reopen' OR v.period_key IS NOT a.corrects_period_key
           OR a.entry_id IS NOT NULL))
         OR (a.event_seq IS NULL) = (a.run_key IS NULL)
         OR a.recorded_at IS NOT coalesce(r.finished_at, v.at)
         OR b.workspace_key IS NOT p.workspace_key OR t.workspace_key IS NOT p.workspace_key
         OR b.period_key <= p.period_key
       ORDER BY a.adjustment_id LIMIT ${FAULTS_PER_CHECK}`,
    )
    .all() as { adjustmentId: number; entryId: number | null; runId: string | null }[];
}

/**
 * Lists the adjustments that were not booked in the first open month. Period keys count months, so the number of months
 * between the corrected and the booked period must equal the number of closed periods between them.
 */
function misbookedAdjustments(connection: LedgerDb): number[] {
  const rows = connection.prepare(
    `WITH events AS (
       SELECT period_key, action, event_seq AS from_seq,
         lead(event_seq, 1, ${Number.MAX_SAFE_INTEGER}) OVER (PARTITION BY period_key ORDER BY event_seq) AS to_seq
       FROM period_events),
     closed AS MATERIALIZED (SELECT * FROM events WHERE action = 'close'),
     bookings AS (
       SELECT min(a.adjustment_id) AS id, a.corrects_period_key AS corrected, a.booked_period_key AS booked,
         coalesce(r.applied_seq, a.event_seq) AS seq
       FROM adjustments a LEFT JOIN runs r USING (run_key) GROUP BY 2, 3, 4)
     SELECT b.id FROM bookings b
     WHERE b.booked - b.corrected - 1 <> (
         SELECT count(*) FROM closed c
         WHERE c.period_key > b.corrected AND c.period_key < b.booked AND b.seq > c.from_seq AND b.seq < c.to_seq)
       OR EXISTS (SELECT 1 FROM closed c WHERE c.period_key = b.booked AND b.seq > c.from_seq AND b.seq < c.to_seq)
     ORDER BY b.id LIMIT ${FAULTS_PER_CHECK}`,
  );
  return rows.pluck().all() as number[];
}

function readClosed(connection: LedgerDb): ClosedPeriod[] {
  const rows = connection
    .prepare(
      `SELECT p.period_key AS periodKey, p.period, w.workspace_id AS workspaceId, e.last_entry_id AS lastEntryId,
         e.tenants, e.credits_used AS creditsUsed, e.request_count AS requestCount
       FROM periods p JOIN workspaces w USING (workspace_key) JOIN period_events e ON e.event_seq = p.closed_seq
       ORDER BY e.event_seq`,
    )
    .safeIntegers()
    .all() as Record<string, bigint | string>[];
  return rows.map((row) => ({
    ...(row as unknown as ClosedPeriod),
    periodKey: Number(row.periodKey),
    lastEntryId: Number(row.lastEntryId),
  }));
}

function firstDifferingFigure(connection: LedgerDb, closed: ClosedPeriod): string | null {
  const tenantId = connection
    .prepare(
      `WITH then_ AS (
         SELECT tenant_key, sum(credits_delta) AS credits, sum(requests_delta) AS requests, max(entry_id) AS last_id,
           min(entry_id) AS first_id
         FROM usage_entries WHERE period_key = ? AND entry_id <= ? GROUP BY tenant_key)
       SELECT coalesce(t.tenant_id, '') FROM (
         SELECT d.tenant_key FROM then_ d
         LEFT JOIN closed_usage c ON c.period_key = ? AND c.tenant_key = d.tenant_key
         LEFT JOIN usage_entries l ON l.entry_id = d.last_id
         LEFT JOIN usage_entries f ON f.entry_id = d.first_id
         WHERE c.credits_used IS NOT d.credits OR c.request_count IS NOT d.requests
           OR c.withdrawn IS NOT (l.kind = 4) OR c.changed_run_key IS NOT l.run_key OR c.first_run_key IS NOT f.run_key
         UNION ALL
         SELECT c.tenant_key FROM closed_usage c
         WHERE c.period_key = ? AND NOT EXISTS (
           SELECT 1 FROM usage_entries e
           WHERE e.period_key = c.period_key AND e.tenant_key = c.tenant_key AND e.entry_id <= ?)) k
       LEFT JOIN tenants t ON t.tenant_key = k.tenant_key
       LIMIT 1`,
    )
    .pluck()
    .get(closed.periodKey, closed.lastEntryId, closed.periodKey, closed.periodKey, closed.lastEntryId) as
    | string
    | undefined;
  return tenantId ?? null;
}
