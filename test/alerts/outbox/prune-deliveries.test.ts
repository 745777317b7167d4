import { expect, test } from 'vitest';
import { pruneDeliveries } from '../../../src/alerts/outbox/deliveries.ts';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';
import { type PlantedMessage, plantMessage } from '../../support/messages.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';

const OLD = '2025-01-01T00:00:00.000Z';
const CUT = '2025-02-01T00:00:00.000Z';
const NEW = '2025-03-01T00:00:00.000Z';

test('old messages are pruned once sent, refused or given up; pending ones are kept', async () => {
  const { connection, add, left } = await openDeliveries();
  for (const state of ['fresh', 'trying', 'possible', 'delivered', 'refused', 'dead'] as const) {
    add(`old ${state}`, state, OLD);
    add(`new ${state}`, state, NEW);
  }

  expect(pruneDeliveries(connection, CUT)).toEqual({ notifications: 3, more: false });
  expect(left()).toEqual([
    ...['new dead', 'new delivered', 'new fresh', 'new possible', 'new refused', 'new trying'],
    ...['old fresh', 'old possible', 'old trying'],
  ]);
});

test('messages about an alert stay until it has ended', async () => {
  const { connection, add, left } = await openDeliveries();
  connection.exec('DROP INDEX IF EXISTS alerts_by_subject');
  for (const [index, state] of ['pending', 'firing', 'acknowledged', 'resolved', 'expired'].entries()) {
    connection
      .prepare(
        `INSERT INTO alerts (alert_key, alert_id, rule, rule_version, workspace_key, period_key, level, severity, state,
           last_changed_at, revision) VALUES (?, ?, 'jump', 1, 1, (SELECT period_key FROM periods), ?, 'critical', ?, '', 1)`,
      )
      .run(index + 1, state, 'settled', state);
    add(state, 'delivered', OLD, index + 1);
  }

  expect(pruneDeliveries(connection, CUT)).toEqual({ notifications: 2, more: false });
  expect(left()).toEqual(['acknowledged', 'firing', 'pending']);
});

test('a long history is pruned in steps, with the contents of the messages', async () => {
  const { connection, add, left } = await openDeliveries();
  for (let number = 0; number < 700; number += 1) add(`n${number}`, 'delivered', OLD);

  expect(pruneDeliveries(connection, CUT)).toEqual({ notifications: 500, more: true });
  expect(pruneDeliveries(connection, CUT)).toEqual({ notifications: 200, more: false });
  expect(left()).toEqual([]);
});

async function openDeliveries(): Promise<{
  connection: LedgerDb;
  add(id: string, state: PlantedMessage['state'], createdAt: string, alertKey?: number): void;
  left(): unknown[];
}> {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('a', 1)]);
  return {
    connection,
    add: (id, state, createdAt, alertKey) =>
      plantMessage(connection, {
        id,
        channel: 'hook',
        state,
        createdAt,
        ...(alertKey === undefined ? {} : { alertKey }),
      }),
    left: () => connection.prepare('SELECT notification_id FROM deliveries ORDER BY notification_id').pluck().all(),
  };
}
