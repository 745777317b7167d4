import Database from 'better-sqlite3';

/** One change of an alert, with whether somebody was told. */
export interface Change {
  alertId: string;
  rule: string;
  tenant: string | null;
  period: string;
  change: 'pending' | 'fired' | 'escalated' | 'grown' | 'acknowledged' | 'resolved' | 'expired';
  level: 'likely' | 'happened' | 'settled';
  atMs: number;
  /** Why nobody was told; null when somebody was. */
  silentBecause: string | null;
  /** A notification of it went at once, and did not wait for a digest. */
  atOnce: boolean;
}

export interface Told {
  changes: Change[];
  /** How many ids of notifications stand there more than once. */
  duplicateIds: number;
}

/** Everything that the ledger at `path` knows of alerts of periods, in the order in which it came. */
export function readTold(path: string): Told {
  const connection = new Database(path, { readonly: true });
  try {
    const rows = connection
      .prepare(
        `SELECT a.alert_id AS alertId, a.rule, t.tenant_id AS tenant, p.period, x.change, x.level, x.at,
           x.silent_because AS silentBecause, EXISTS (SELECT 1 FROM outbox o
             WHERE o.alert_key = x.alert_key AND o.revision = x.revision AND o.digest_at IS NULL) AS atOnce
         FROM alert_transitions x JOIN alerts a USING (alert_key) JOIN periods p USING (period_key)
         LEFT JOIN tenants t ON t.tenant_key = a.tenant_key ORDER BY x.at, x.alert_key, x.revision`,
      )
      .all() as (Omit<Change, 'atMs' | 'atOnce'> & { at: string; atOnce: number })[];
    const ids = connection.prepare('SELECT notification_id FROM outbox').pluck().all() as string[];
    return {
      changes: rows.map(({ at, atOnce, ...row }) => ({ ...row, atMs: Date.parse(at), atOnce: atOnce === 1 })),
      duplicateIds: ids.length - new Set(ids).size,
    };
  } finally {
    connection.close();
  }
}

/** What makes an alert worse, and so is told. */
export function isNews({ change }: Change): boolean {
  return change === 'fired' || change === 'escalated' || change === 'grown';
}

export function wasTold(change: Change): boolean {
  return change.silentBecause === null && (isNews(change) || change.change === 'resolved');
}
