import { expect, test } from 'vitest';
import { pruneOutbox } from '../../../src/alerts/outbox/prune-outbox.ts';
import type { LedgerConnection } from '../../../src/ledger/store/file/open.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';

const OLD = '2025-01-01T00:00:00.000Z';
const CUT = '2025-02-01T00:00:00.000Z';
const NEW = '2025-03-01T00:00:00.000Z';

test('what was sent, went with a digest or was given up is forgotten when it is old; what waits is not', async () => {
  const { connection, add, left } = await openOutbox();
  for (const state of ['pending', 'held', 'digested', 'delivered', 'dead']) {
    add(`old ${state}`, { state, createdAt: OLD });
    add(`new ${state}`, { state, createdAt: NEW });
  }

  expect(pruneOutbox(connection, CUT)).toEqual({ notifications: 3, more: false });
  expect(left()).toEqual([
    ...['new dead', 'new delivered', 'new digested', 'new held', 'new pending'],
    ...['old held', 'old pending'],
  ]);
});

test('notifications of an alert stay until it has ended, because they say who must hear of that', async () => {
  const { connection, add, left } = await openOutbox();
  for (const [index, state] of ['pending', 'firing', 'acknowledged', 'resolved', 'expired'].entries()) {
    connection
      .prepare(
        `INSERT INTO alerts (alert_key, alert_id, rule, rule_version, workspace_key, period_key, level, severity, state,
           last_changed_at, revision) VALUES (?, ?, 'jump', 1, 1, (SELECT period_key FROM periods), ?, 'critical', ?, '', 1)`,
      )
      .run(index + 1, state, 'settled', state);
    connection.exec('DROP INDEX IF EXISTS alerts_by_subject');
    add(state, { state: 'delivered', createdAt: OLD, alertKey: index + 1 });
  }

  pruneOutbox(connection, CUT);
  expect(left()).toEqual(['acknowledged', 'firing', 'pending']);
});

test('a long past is forgotten in steps, each by the index of what is done', async () => {
  const { connection, add, left } = await openOutbox();
  for (let number = 0; number < 700; number += 1) add(`n${number}`, { state: 'delivered', createdAt: OLD });

  expect(pruneOutbox(connection, CUT)).toEqual({ notifications: 500, more: true });
  expect(pruneOutbox(connection, CUT)).toEqual({ notifications: 200, more: false });
  expect(left()).toEqual([]);
});

async function openOutbox(): Promise<{
  connection: LedgerConnection;
  add(id: string, row: { state: string; createdAt: string; alertKey?: number }): void;
  left(): unknown[];
}> {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('a', 1)]);
  const insert = connection.prepare(
    `INSERT INTO outbox (notification_id, alert_key, channel, payload, state, created_at, next_attempt_at)
     VALUES (?, ?, 'hook', '{}', ?, ?, ?)`,
  );
  return {
    connection,
    add: (id, { state, createdAt, alertKey = null }: { state: string; createdAt: string; alertKey?: number | null }) =>
      insert.run(id, alertKey, state, createdAt, createdAt),
    left: () => connection.prepare('SELECT notification_id FROM outbox ORDER BY notification_id').pluck().all(),
  };
}
