import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openForWriting } from '../../../src/ledger/file/open.ts';
import { migrateLedger } from '../../../src/ledger/schema/migrate.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { NOON } from '../../support/test-clock.ts';

const OLD_LEDGER = fileURLToPath(new URL('../../fixtures/ledger-0.1.0.sql', import.meta.url));
const COLUMNS = `alert_id, workspace_id, tenant_id, period, rule, stage, severity, state, previous_credits,
  current_credits, threshold, first_fired_at, last_changed_at`;

test('alerts of an older ledger keep their figures, their history and what waits for delivery', () => {
  const path = join(temporaryFolder(), 'ledger.db');
  const old = new Database(path);
  old.exec(readFileSync(OLD_LEDGER, 'utf8'));
  old.close();
  const before = viewLedger(path).rows(`SELECT ${COLUMNS} FROM finance_alerts`);
  const outbox = viewLedger(path).rows(
    'SELECT notification_id, alert_key, channel, payload, state, attempts, created_at, next_attempt_at, claimed_until, delivered_at, last_error FROM outbox',
  );

  const connection = openForWriting(path);
  migrateLedger(connection, path, '0.2.0', NOON);
  connection.close();

  const ledger = viewLedger(path);
  expect(before).toHaveLength(1);
  expect(ledger.rows(`SELECT ${COLUMNS} FROM finance_alerts`)).toEqual(before);
  expect(
    ledger.rows(
      'SELECT notification_id, alert_key, channel, payload, state, attempts, created_at, next_attempt_at, claimed_until, delivered_at, last_error FROM outbox',
    ),
  ).toEqual(outbox);
  // Who was told of this firing is who hears of its end.
  expect(ledger.rows('SELECT revision, digest_at, digest_id FROM outbox')).toEqual([
    { revision: 1n, digest_at: null, digest_id: null },
  ]);
  expect(ledger.rows('SELECT change, state, stage, silent, silent_because FROM alert_transitions')).toEqual([
    { change: 'fired', state: 'firing', stage: 'certain', silent: 0n, silent_because: null },
  ]);
  expect(
    ledger.value("SELECT sql LIKE '%STRICT, WITHOUT ROWID' FROM sqlite_schema WHERE name = 'alert_transitions'"),
  ).toBe(1n);
});

test('only what tells of a change of an alert is taken for that when an older ledger is migrated', () => {
  const path = join(temporaryFolder(), 'ledger.db');
  const old = new Database(path);
  old.exec(readFileSync(OLD_LEDGER, 'utf8'));
  const add = old.prepare(
    `INSERT INTO outbox (notification_id, alert_key, channel, payload, state, created_at, next_attempt_at)
     SELECT ?, alert_key, 'hook', ?, state, created_at, next_attempt_at FROM outbox WHERE channel = 'log'`,
  );
  add.run('msg_notice', '{"type":"channel.disabled"}');
  add.run('msg_broken', 'no JSON');
  add.run('msg_other', '{"type":"alert.firing"}');
  old.close();
  const connection = openForWriting(path);
  migrateLedger(connection, path, '0.2.0', NOON);
  connection.close();

  expect(
    viewLedger(path).rows("SELECT notification_id, revision FROM outbox WHERE channel = 'hook' ORDER BY rowid"),
  ).toEqual([
    { notification_id: 'msg_notice', revision: null },
    { notification_id: 'msg_broken', revision: null },
    { notification_id: 'msg_other', revision: 1n },
  ]);
});

test.each(['UPDATE alert_transitions SET at = 1', 'DELETE FROM alert_transitions'])(
  '%s is refused still',
  (statement) => {
    const path = join(temporaryFolder(), 'ledger.db');
    const old = new Database(path);
    old.exec(readFileSync(OLD_LEDGER, 'utf8'));
    old.close();
    const connection = openForWriting(path);
    migrateLedger(connection, path, '0.2.0', NOON);

    expect(() => connection.exec(statement)).toThrow(/append-only/);
    connection.close();
  },
);
