import { createHash } from 'node:crypto';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { messages, plantMessage } from '../../support/messages.ts';

/** One alert can have any number of notifications: this gives the alert of the one that is there `count` in all. */
export function fillOutbox(ledgerPath: string, count: number): void {
  const connection = openForWriting(ledgerPath);
  connection.pragma('busy_timeout = 5000');
  try {
    const [first] = messages(connection);
    if (first === undefined) throw new Error('there is no notification to begin with');
    const alertKey = connection.prepare('SELECT alert_key FROM alerts').pluck().get() as number;
    const { channel, createdAt } = first;
    connection.transaction(() => {
      for (let number = 1; number < count; number += 1) {
        const id = `msg_${createHash('sha256').update(`notification ${number}`).digest('hex').slice(0, 32)}`;
        const text = first.text.replaceAll(first.id, id);
        plantMessage(connection, { id, alertKey, channel, text, state: 'pending', createdAt });
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
