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
 * Cuts the waits short that the ledger has set: real ones take up to three days. A daemon measures each wait from the attempt
 * before it: as if there had been none, there is nothing to wait for.
 */
export function hurry(ledgerPath: string): void {
  const connection = openForWriting(ledgerPath);
  connection.pragma('busy_timeout = 5000');
  try {
    connection
      .prepare(
        `UPDATE outbox SET attempts = 0, next_attempt_at = created_at, claimed_until = NULL
         WHERE state = 'pending' AND attempts > 0 AND coalesce(claimed_until, '') <= ?`,
      )
      .run(new Date().toISOString());
  } finally {
    connection.close();
  }
}
