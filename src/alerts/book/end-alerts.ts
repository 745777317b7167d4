import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import type { EndingWorkspace } from '../../ledger/journal/end-workspace.ts';
import { query } from '../../ledger/store/query.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { sql } from '../../ledger/store/schema/drizzle.ts';
import { alertsUnsent, dropMessage, latestMessages } from '../tell/messages.ts';
import { renameOwnAlerts } from '../track/alert-rows.ts';
import { AlertBook } from './alert-book.ts';

/** A workspace at its end, who ends it, and when. */
export interface Ending extends EndingWorkspace {
  by: string;
  nowMs: number;
}

/**
 * Ends what is open of a workspace that this ledger is to read no more; receivers who heard of its beginning are told. Runs
 * inside the transaction that ends the workspace, and returns how many alerts somebody is told the end of.
 */
export function endAlerts(connection: Database.Database, { workspaceId, workspaceKey, by, nowMs }: Ending): number {
  const book = new AlertBook({
    connection,
    workspaceKey,
    workspaceId,
    runKey: null,
    runId: null,
    actor: by,
    seeding: false,
    ending: true,
    at: isoTime(nowMs),
    nowMs,
  });
  for (const alert of book.open()) book.expire(alert);
  return book.finish().changes.filter(({ silent }) => !silent).length;
}

/**
 * Takes back every message of a workspace, or with null of the ledger as a whole, that waits to be sent: another ledger has the
 * same messages and sends them. Runs inside the caller's transaction, and returns how many those were.
 */
export function withdrawMessages(connection: Database.Database, workspaceKey: number | null): number {
  const unsent = alertsUnsent(connection)();
  const own = query(connection)
    .select({ alertKey: alerts.alertKey })
    .from(alerts)
    .where(sql`${alerts.workspaceKey} IS ${workspaceKey}`);
  let withdrawn = 0;
  for (const { alertKey } of own.all()) {
    if (!unsent.has(alertKey)) continue;
    for (const message of latestMessages(connection, alertKey).values()) {
      if (!message.waits) continue;
      dropMessage(connection, message);
      withdrawn += 1;
    }
  }
  return withdrawn;
}

/**
 * What a copy that becomes a ledger of its own leaves to the original: the alerts about the ledger as a whole. They end there
 * without a word, and their ids are those of the new ledger, should they ever begin. Runs inside the caller's transaction.
 */
export function leaveOwnAlerts(nowMs: number): (connection: Database.Database) => void {
  return (connection) => {
    withdrawMessages(connection, null);
    connection.exec(
      'DELETE FROM alert_told WHERE alert_key IN (SELECT alert_key FROM alerts WHERE workspace_key IS NULL)',
    );
    const nobody = { workspaceKey: null, workspaceId: null, runKey: null, runId: null };
    const book = new AlertBook({ connection, ...nobody, actor: 'restore', seeding: false, at: isoTime(nowMs), nowMs });
    for (const alert of book.open()) book.expire(alert);
    book.finish();
    renameOwnAlerts(connection);
  };
}
