import { createHash } from 'node:crypto';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { plantMessage } from '../../support/messages.ts';

/** Writes down so many messages to a channel of which nobody knows whether they have arrived: each keeps its id and its bytes. */
export function fillDeliveries(ledgerPath: string, channel: string, count: number): void {
  withLedger(ledgerPath, (connection) => {
    const createdAt = new Date().toISOString();
    connection.transaction(() => {
      for (let number = 1; number <= count; number += 1) {
        const id = `msg_${createHash('sha256').update(`notification ${number}`).digest('hex').slice(0, 32)}`;
        const text = JSON.stringify({ notification_id: id, type: 'test', summary: `message ${number}` });
        plantMessage(connection, { id, channel, text, state: 'possible', createdAt });
      }
    })();
  });
}

/** Cuts the waits short that the ledger has set: real ones take up to three days. What is in somebody's hands has a minute. */
export function hurry(ledgerPath: string): void {
  withLedger(ledgerPath, (connection) =>
    connection
      .prepare(
        `UPDATE deliveries SET failures = 0, due_at = created_at
         WHERE state = 'possible' AND failures > 0
           AND abs((julianday(due_at) - julianday(scheduled_at)) * 86400 - 60) > 0.5`,
      )
      .run(),
  );
}

function withLedger<T>(ledgerPath: string, use: (connection: ReturnType<typeof openForWriting>) => T): T {
  const connection = openForWriting(ledgerPath);
  connection.pragma('busy_timeout = 5000');
  try {
    return use(connection);
  } finally {
    connection.close();
  }
}
