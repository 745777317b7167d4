import Database from 'better-sqlite3';

/** One change of an alert, with whether somebody was told. */
export interface Change {
  alertId: string;
  rule: string;
  tenant: string | null;
  period: string;
  change: 'pending' | 'fired' | 'escalated' | 'eased' | 'grown' | 'told' | 'acknowledged' | 'resolved' | 'expired';
  level: 'likely' | 'happened' | 'settled';
  atMs: number;
  /** Why nobody was told; null when somebody was. */
  silentBecause: string | null;
}

/** What a receiver got: a message about one alert, a group, or what waited for the daily summary. */
export interface Message {
  /** Of a digest, the first one; `rules` are all. */
  rule: string;
  rules: string[];
  event: string;
  level: string;
  period: string;
  /** Those that it names; null stands for the workspace. */
  tenants: (string | null)[];
  atOnce: boolean;
  atMs: number;
}

export interface Told {
  changes: Change[];
  messages: Message[];
  /** How many ids of notifications stand there more than once. */
  duplicateIds: number;
}

/** Everything that the ledger at `path` knows of alerts of periods, in the order in which it came. */
export function readTold(path: string): Told {
  const connection = new Database(path, { readonly: true });
  try {
    const changes = connection
      .prepare(
        `SELECT a.alert_id AS alertId, a.rule, t.tenant_id AS tenant, p.period, x.change, x.level, x.at,
           x.silent_because AS silentBecause
         FROM alert_transitions x JOIN alerts a USING (alert_key) JOIN periods p USING (period_key)
         LEFT JOIN tenants t ON t.tenant_key = a.tenant_key ORDER BY x.at, x.alert_key, x.revision`,
      )
      .all() as (Omit<Change, 'atMs'> & { at: string })[];
    const messages = connection
      .prepare(
        `SELECT min(a.rule) AS rule, json_group_array(DISTINCT a.rule) AS rules, min(m.event) AS event, min(m.level) AS level, min(p.period) AS period,
           json_group_array(t.tenant_id) AS tenants, m.digest_at IS NULL AS atOnce, min(m.created_at) AS at
         FROM outbox m JOIN alerts a USING (alert_key) JOIN periods p USING (period_key)
         LEFT JOIN tenants t ON t.tenant_key = a.tenant_key
         WHERE m.state <> 'dropped' GROUP BY coalesce(m.digest_at, m.digest_id, m.notification_id) ORDER BY at, min(m.rowid)`,
      )
      .all() as (Omit<Message, 'atMs' | 'tenants' | 'rules' | 'atOnce'> &
      Record<'at' | 'tenants' | 'rules', string> & { atOnce: number })[];
    const ids = connection.prepare('SELECT notification_id FROM outbox').pluck().all() as string[];
    return {
      changes: changes.map(({ at, ...row }) => ({ ...row, atMs: Date.parse(at) })),
      messages: messages.map(({ at, tenants, rules, atOnce, ...row }) => ({
        ...row,
        rules: JSON.parse(rules) as string[],
        atOnce: atOnce === 1,
        tenants: JSON.parse(tenants) as (string | null)[],
        atMs: Date.parse(at),
      })),
      duplicateIds: ids.length - new Set(ids).size,
    };
  } finally {
    connection.close();
  }
}

/** What makes an alert worse. */
export function isNews({ change }: Change): boolean {
  return change === 'fired' || change === 'escalated' || change === 'grown';
}

/** Somebody heard that it holds. */
export function wasTold(each: Change): boolean {
  return each.silentBecause === null && (isNews(each) || each.change === 'told');
}
