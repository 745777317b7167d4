import Database from 'better-sqlite3';
import { periodEndMs } from '../../../../src/core/period.ts';
import { notifications } from '../../../support/messages.ts';

/** One alert in one message that a receiver got. */
export interface SentAlert {
  rule: string;
  /** Null: the workspace. */
  tenant: string | null;
  period: string;
  event: string;
  level: 'likely' | 'happened' | 'settled';
  /** Null for methods that know no severity. */
  severity: 'warning' | 'critical' | null;
  /** The range that an open month was expected to end in, in credits; null where none was given. */
  range: { low: number; high: number } | null;
  /** The limit that the message names, in credits. */
  limit: number | null;
}

/** A message as its receiver got it: about one alert, or about several. */
export interface SentMessage {
  atMs: number;
  alerts: SentAlert[];
}

/** Rules about the program's own work; their messages are not about usage. */
const SYSTEM_RULES = new Set(['sync_stale', 'sync_failed', 'job_failed']);

/** Returns all messages about usage in the ledger at `path`, in the order in which they were made. */
export function readSentMessages(path: string): SentMessage[] {
  const connection = new Database(path, { readonly: true });
  try {
    const alerts = notifications(connection).filter(({ payload }) => !SYSTEM_RULES.has(payload.rule));
    return [...Map.groupBy(alerts, ({ delivery }) => delivery).values()]
      .map((members) => {
        const atMs = Date.parse(members[0]?.createdAt ?? '');
        return { atMs, alerts: members.map(({ event, payload }) => sentAlert(event, payload, atMs)) };
      })
      .sort((a, b) => a.atMs - b.atMs);
  } finally {
    connection.close();
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a payload of another shape fails by itself
function sentAlert(event: string | null, payload: any, atMs: number): SentAlert {
  const { low_credits: low = null, high_credits: high = null } = payload.evidence?.projection ?? {};
  const isOpen = payload.period !== null && atMs < periodEndMs(payload.period);
  return {
    rule: payload.rule,
    tenant: payload.tenant_id,
    period: payload.period ?? '',
    event: event ?? payload.event,
    level: payload.level,
    severity: payload.severity,
    range: low === null || high === null || !isOpen ? null : { low, high },
    limit: payload.threshold,
  };
}
