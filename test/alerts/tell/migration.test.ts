import { join } from 'node:path';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { expect, onTestFinished, test } from 'vitest';
import { AlertBook } from '../../../src/alerts/book/alert-book.ts';
import { evaluateJob } from '../../../src/alerts/evaluate/evaluate-self.ts';
import { clear } from '../../../src/alerts/measures/judgement.ts';
import { observation } from '../../../src/alerts/measures/observation.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { addRowDigest } from '../../../src/ledger/store/file/row-digest.ts';
import { makeGuards } from '../../../src/ledger/store/schema/guards.ts';
import { migrateLedger } from '../../../src/ledger/store/schema/migrate.ts';
import { LOG_ROUTES, setRoutes } from '../../support/run/real-run.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { NOON } from '../../support/time/test-clock.ts';

const AT = isoTime(NOON - 3 * 86_400_000);
/** Alerts of a ledger of before, by the tenant that each is about: its state, and whether it was told. */
const ALERTS = {
  told: { state: 'firing', outbox: 'delivered' },
  looked_after: { state: 'acknowledged', outbox: 'delivered' },
  muted: { state: 'firing', outbox: null },
  member: { state: 'firing', outbox: null },
  waiting: { state: 'firing', outbox: 'pending' },
  over: { state: 'resolved', outbox: 'delivered' },
} as const;

/** Faults of our own that were told, by their names of before. */
const OWN = { auth_failed: 'resolved', export_failed: 'firing', publish_stale: 'firing', job_failed: 'firing' };

/** A ledger as the version before wrote it, with an incident that was told and has one member, brought to this version. */
function migrated() {
  const path = join(temporaryFolder(), 'ledger.db');
  const connection = openForWriting(path);
  onTestFinished(() => void connection.close());
  addRowDigest(connection);
  const older = readMigrationFiles({ migrationsFolder: 'drizzle' }).slice(0, 3);
  for (const { sql } of older) for (const statement of sql) connection.exec(statement);
  makeGuards(connection);
  connection.exec(`
    CREATE TABLE schema_migrations (created_at INTEGER PRIMARY KEY, hash TEXT NOT NULL, version TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT;
    INSERT INTO schema_migrations VALUES ${older.map(({ folderMillis }) => `(${folderMillis}, '', '', '')`).join()};
    INSERT INTO workspaces (workspace_key, workspace_id, name) VALUES (1, 'ws-1', 'ws-1');`);
  const insert = (table: string, row: Record<string, unknown>) => {
    const columns = Object.keys(row);
    connection
      .prepare(`INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map((column) => `@${column}`).join()})`)
      .run(row);
  };
  const incident = Object.keys(ALERTS).length + 1;
  const add = (key: number, alert: { name: string; rule: string; state: string; outbox: string | null }) => {
    const { name, rule, state, outbox } = alert;
    const ofTenant = rule === 'jump' ? { tenant_key: key, incident_key: name === 'member' ? incident : null } : {};
    insert('alerts', {
      ...{ alert_key: key, alert_id: `alert_${name}`, rule, rule_version: 5, workspace_key: 1, stage: 'certain' },
      ...{
        severity: 'critical',
        state,
        first_fired_at: AT,
        last_changed_at: AT,
        revision: state === 'resolved' ? 2 : 1,
      },
      ...{ current_credits: 16_000, current_requests: 1, notified_measure: 16_000, ...ofTenant },
    });
    const transition = { alert_key: key, stage: 'certain', actor: 'run', at: AT, silent: 0 };
    insert('alert_transitions', { ...transition, revision: 1, change: 'fired', state: 'firing' });
    if (state === 'resolved') insert('alert_transitions', { ...transition, revision: 2, change: 'resolved', state });
    if (outbox === null) return;
    insert('outbox', {
      ...{ notification_id: `msg_${name}`, alert_key: key, revision: state === 'resolved' ? 2 : 1, channel: 'log' },
      ...{ payload: '{}', state: outbox, created_at: AT, next_attempt_at: AT },
    });
  };
  for (const [index, [name, alert]] of Object.entries(ALERTS).entries()) {
    insert('tenants', { tenant_key: index + 1, workspace_key: 1, tenant_id: name });
    add(index + 1, { name, rule: 'jump', ...alert });
  }
  add(incident, { name: 'incident', rule: 'incident', state: 'firing', outbox: 'delivered' });
  for (const [index, [rule, state]] of Object.entries(OWN).entries()) {
    add(incident + 1 + index, { name: rule, rule, state, outbox: 'delivered' });
  }
  migrateLedger(connection, path, '', NOON);
  const book = (channels = LOG_ROUTES) => {
    setRoutes(connection, channels);
    return new AlertBook({
      ...{ connection, workspaceKey: 1, workspaceId: 'ws-1', runKey: null, runId: null, actor: 'timer' as const },
      ...{ seeding: false, at: isoTime(NOON), nowMs: NOON },
    });
  };
  const words = () =>
    connection
      .prepare(
        `SELECT replace(a.alert_id, 'alert_', '') || ' ' || o.event FROM outbox o JOIN alerts a USING (alert_key)
         WHERE o.state IN ('pending', 'held') ORDER BY a.alert_key`,
      )
      .pluck()
      .all();
  return { connection, book, words };
}

test('of a ledger of before nobody is told anew, and what still waits goes on waiting', () => {
  const { book, words } = migrated();
  expect(words()).toEqual(['waiting opened']);
  book().finish();
  expect(words()).toEqual(['waiting opened']);
  // Nor is a channel that was not there.
  book(LOG_ROUTES.map((route) => ({ ...route, channel: 'new' }))).finish();
  expect(words()).toEqual(['waiting opened']);
});

test('their ends go to who heard the beginning, by itself or with an incident', () => {
  const { book, words } = migrated();
  const ending = book();
  for (const alert of ending.open()) {
    const { rule, periodKey, tenantKey } = alert;
    if (rule === 'jump') ending.observe(observation({ rule, periodKey, tenantKey, judgement: clear(true) }), alert);
  }
  ending.finish();
  expect(words()).toEqual(['told closed', 'looked_after closed', 'member closed', 'incident closed']);
});

test('faults of our own go on by rule and cause, those of the ledger without a workspace, and end under the old id', () => {
  const { connection, book, words } = migrated();
  const rows = connection.prepare(
    "SELECT alert_id || ' ' || rule || ' ' || cause || ' ' || coalesce(workspace_id, '-') FROM finance_alerts WHERE cause IS NOT NULL",
  );
  expect(rows.pluck().all()).toEqual([
    'alert_auth_failed sync_failed credentials ws-1',
    'alert_export_failed job_failed export -',
    'alert_publish_stale job_failed replica -',
    'alert_job_failed job_failed alerting ws-1',
  ]);
  book().finish();
  expect(words()).toEqual(['waiting opened']);
  evaluateJob(connection, { job: 'export', detail: null }, NOON);
  expect(words()).toEqual(['waiting opened', 'export_failed closed']);
});
