import Database from 'better-sqlite3';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';
import { messages, notifications } from '../../support/messages.ts';

/** One change of an alert, with whether somebody was told. */
export interface Change {
  alertId: string;
  rule: string;
  tenant: string | null;
  period: string;
  change: 'pending' | 'fired' | 'escalated' | 'eased' | 'grown' | 'notified' | 'acknowledged' | 'resolved' | 'expired';
  level: 'likely' | 'happened' | 'settled';
  atMs: number;
  /** Why nobody was told; null when somebody was. */
  silentBecause: string | null;
  /** What the month was said to come to, with what it had; null when nothing was said. */
  foretold: { used: number; low: number; likely: number; high: number } | null;
}

/** What a receiver got: a message about one alert, a group, or what waited for the daily summary. */
export interface Received {
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
  messages: Received[];
  /** How many ids of notifications stand there more than once. */
  duplicateIds: number;
}

/** Everything that the ledger at `path` knows of alerts of periods, in the order in which it came. */
export function readNotified(path: string): Told {
  const connection = new Database(path, { readonly: true });
  try {
    const changes = connection
      .prepare(
        `SELECT a.alert_id AS alertId, a.rule, t.tenant_id AS tenant, p.period, x.change, x.level, x.at,
           x.silent_because AS silentBecause, x.evidence
         FROM alert_transitions x JOIN alerts a USING (alert_key) JOIN periods p USING (period_key)
         LEFT JOIN tenants t ON t.tenant_key = a.tenant_key ORDER BY x.at, x.alert_key, x.revision`,
      )
      .all() as (Omit<Change, 'atMs' | 'foretold'> & { at: string; evidence: string | null })[];
    const ids = messages(connection).map(({ id }) => id);
    return {
      changes: changes.map(({ at, evidence, ...row }) => ({
        ...row,
        atMs: Date.parse(at),
        foretold: evidence === null ? null : foretoldIn(evidence, row.period),
      })),
      messages: received(connection),
      duplicateIds: ids.length - new Set(ids).size,
    };
  } finally {
    connection.close();
  }
}

function received(connection: LedgerDb): Received[] {
  const told = notifications(connection).filter(({ payload }) => payload.period !== null);
  const together = Map.groupBy(told, ({ delivery }) => delivery);
  const all = [...together.values()].map((parts) => {
    const least = (of: (each: (typeof parts)[number]) => string): string => parts.map(of).sort()[0] ?? '';
    const rules = [...new Set(parts.map(({ payload }) => payload.rule as string))];
    return {
      rule: least(({ payload }) => payload.rule),
      rules,
      event: least(({ event }) => event ?? ''),
      level: least(({ payload }) => payload.level),
      period: least(({ payload }) => payload.period),
      tenants: parts.map(({ payload }) => payload.tenant_id as string | null),
      atOnce: parts[0]?.form !== 'digest',
      atMs: Date.parse(least(({ createdAt }) => createdAt)),
    };
  });
  return all.sort((a, b) => a.atMs - b.atMs);
}

/** What makes an alert worse. */
export function isNews({ change }: Change): boolean {
  return change === 'fired' || change === 'escalated' || change === 'grown';
}

/** Somebody heard that it holds. */
export function wasTold(each: Change): boolean {
  return each.silentBecause === null && (isNews(each) || each.change === 'notified');
}

function foretoldIn(text: string, period: string): Change['foretold'] {
  const { projection, entries } = JSON.parse(text) as {
    projection: { credits: number; low_credits: number | null; high_credits: number | null } | null;
    entries: { period: string; credits_after: number }[];
  };
  const used = entries.findLast((entry) => entry.period === period)?.credits_after;
  if (projection === null || projection.low_credits === null || projection.high_credits === null || used === undefined)
    return null;
  return { used, low: projection.low_credits, likely: projection.credits, high: projection.high_credits };
}
