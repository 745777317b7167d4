import { OPEN_ALERT_STATES } from '../../core/alert-words.ts';
import { type RuleName, SELF_RULES } from '../rules/rule.ts';
import { type BookContext, type Draft, muteSubject, NEWS } from './alert-change.ts';
import type { AlertRows, StoredAlert } from './alert-rows.ts';
import { readMutes } from './mutes.ts';

/** A fault of ourselves that explains another keeps it quiet; of the same rank they stand side by side. */
const SELF_RANK: Partial<Record<RuleName, number>> = { sync_stale: 1, sync_failed: 2, auth_failed: 3, clock_skew: 3 };

/** Returns what says why a change is kept quiet, wherever the routes would have it told; null when it is not. */
export function createSilencer(context: BookContext, rows: AlertRows): (draft: Draft) => string | null {
  const { connection, workspaceKey, nowMs, seeding } = context;
  const mutes = readMutes(connection, workspaceKey, nowMs);
  const faults = rows.open().filter(({ rule, state }) => isSelf(rule) && state !== 'pending');
  const incidents = new Map<number, StoredAlert | null>();
  return (draft) => {
    const { alert, change } = draft;
    if (seeding) return 'seed';
    if (change === 'resolved') return null;
    if (!NEWS.includes(change)) return 'quiet';
    const fault = faults.find(({ rule }) => (SELF_RANK[rule] ?? 0) > (SELF_RANK[alert.rule] ?? 0));
    if (fault !== undefined) return `inhibited:${fault.alertId}`;
    const silence = mutes(muteSubject(draft));
    if (silence !== null) return `silence:${silence}`;
    if (alert.incidentKey === null) return null;
    const incident = incidents.get(alert.incidentKey) ?? rows.byKey(alert.incidentKey);
    incidents.set(alert.incidentKey, incident);
    return incident !== null && OPEN_ALERT_STATES.includes(incident.state) ? `incident:${incident.alertId}` : null;
  };
}

function isSelf(rule: RuleName): boolean {
  return (SELF_RULES as readonly RuleName[]).includes(rule);
}
