import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { CLOCK_SLACK_MS } from '../../core/stored-time.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import { elsewhereSql } from '../../ledger/journal/ended.ts';
import { query } from '../../ledger/store/query.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, eq, gt, isNotNull, lte, or, sql } from '../../ledger/store/schema/drizzle.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { isOpenAlert } from '../track/alert-rows.ts';
import { AlertBook } from './alert-book.ts';

const isOpenForSomebody = or(isOpenAlert, sql`${alerts.alertKey} IN (SELECT alert_key FROM alert_told WHERE open = 1)`);

/** The moments that have come, also those that a clock ahead of this one has worked out. */
function isAsked(nowMs: number) {
  const isAhead = gt(alerts.askedAt, isoTime(nowMs + CLOCK_SLACK_MS));
  const isDue = and(isNotNull(alerts.askAt), or(lte(alerts.askAt, isoTime(nowMs)), isAhead));
  return and(isDue, sql.raw(`NOT ${elsewhereSql('alerts.workspace_key')}`));
}

/** Whether there may be something to tell without any run having changed anything. */
export function asksAreDue(connection: Database.Database, nowMs: number): boolean {
  const asked = query(connection).select({ key: alerts.alertKey }).from(alerts).where(isAsked(nowMs));
  return asked.limit(1).get() !== undefined;
}

/** Asks for all alerts of the workspaces, and of the ledger as a whole, where something is asked; returns the notifications that are to go now. */
export function askDue(connection: Database.Database, nowMs: number): string[] {
  return connection.transaction(() => askNow(connection, nowMs)).immediate();
}

/** The same inside the caller's transaction. */
export function askNow(connection: Database.Database, nowMs: number): string[] {
  return query(connection)
    .selectDistinct({ workspaceKey: alerts.workspaceKey, workspaceId: workspaces.workspaceId })
    .from(alerts)
    .leftJoin(workspaces, eq(workspaces.workspaceKey, alerts.workspaceKey))
    .where(isAsked(nowMs))
    .orderBy(asc(alerts.workspaceKey))
    .all()
    .flatMap((workspace) => askWorkspace(connection, workspace, nowMs));
}

function askWorkspace(
  connection: Database.Database,
  { workspaceKey, workspaceId }: { workspaceKey: number | null; workspaceId: string | null },
  nowMs: number,
): string[] {
  const book = new AlertBook({
    ...{ connection, workspaceKey, workspaceId, runKey: null, runId: null, actor: 'timer', seeding: false },
    ...{ at: isoTime(nowMs), nowMs },
    priceOf: workspaceId === null ? null : creditPricer(connection, workspaceId),
  });
  return book.finish().notificationIds;
}

/** Has everything of a workspace, or with null of all, asked for as soon as somebody looks: a person has said something. */
export function askSoon(connection: Database.Database, workspaceKey: number | null, nowMs: number): void {
  const at = isoTime(nowMs);
  const isOwn = workspaceKey === null ? undefined : eq(alerts.workspaceKey, workspaceKey);
  query(connection).update(alerts).set({ askAt: at, askedAt: at }).where(and(isOpenForSomebody, isOwn)).run();
}
