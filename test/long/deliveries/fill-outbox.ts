import { createHash } from 'node:crypto';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';

/** One alert can have any number of notifications: this gives the alert of the one that is there `count` in all. */
export function fillOutbox(ledgerPath: string, count: number): void {
  const connection = openForWriting(ledgerPath);
  connection.pragma('busy_timeout = 5000');
  try {
    const [first] = connection.prepare('SELECT * FROM outbox').all() as {
      alert_key: number;
      notification_id: string;
      channel: string;
      payload: string;
      created_at: string;
    }[];
    if (first === undefined) throw new Error('there is no notification to begin with');
    const insert = connection.prepare(
      `INSERT INTO outbox (notification_id, alert_key, channel, payload, state, created_at, next_attempt_at)
       VALUES (?, ?, ?, ?, 'pending', ?, ?)`,
    );
    connection.transaction(() => {
      for (let number = 1; number < count; number += 1) {
        const id = `msg_${createHash('sha256').update(`notification ${number}`).digest('hex').slice(0, 32)}`;
        const payload = first.payload.replaceAll(first.notification_id, id);
        insert.run(id, first.alert_key, first.channel, payload, first.created_at, first.created_at);
      }
    })();
  } finally {
    connection.close();
  }
}

/**
 * Cuts the waits short that the ledger has set: real ones take up to three days.
 */
export function hurry(ledgerPath: string): void {
  const connection = openForWriting(ledgerPath);
  connection.pragma('busy_timeout = 5000');
  try {
    const now = Date.now();
    connection
      .prepare("UPDATE outbox SET next_attempt_at = ? WHERE state = 'pending' AND attempts > 0 AND next_attempt_at > ?")
      .run(new Date(now).toISOString(), new Date(now).toISOString());
  } finally {
    connection.close();
  }
}
