import { OPEN_ALERT_STATES } from '../../core/text/alert-words.ts';
import { type RuleName, SELF_RULES, STAGE_RANK } from '../rules/rule.ts';
import { isLedgerRule } from '../rules/table.ts';
import { type BookContext, muteSubject, NEWS, type UnpublishedChange } from './alert-change.ts';
import type { AlertRows, StoredAlert } from './alert-rows.ts';
import type { Mutes } from './mutes.ts';

/** A fault of ourselves that explains another keeps it quiet; of the same rank they stand side by side. */
const SELF_RANK: Partial<Record<RuleName, number>> = { sync_stale: 1, sync_failed: 2, auth_failed: 3, clock_skew: 3 };

/** Returns what says why a change is kept quiet, wherever the routes would have it told; null when it is not. */
export function createSilencer(
  context: BookContext,
  rows: AlertRows,
  mutes: Mutes,
): (draft: UnpublishedChange) => string | null {
  const { seeding } = context;
  const open = rows.open().filter(({ state }) => state !== 'pending');
  const faults = open.filter(({ rule }) => isSelf(rule));
  const incidents = new Map<number, StoredAlert | null>();
  return (draft) => {
    const { alert, change } = draft;
    if (seeding && !isSelf(alert.rule)) return 'seed';
    if (change === 'resolved') return null;
    if (!NEWS.includes(change)) return 'quiet';
    const fault = isLedgerRule(alert.rule)
      ? undefined
      : faults.find(({ rule }) => (SELF_RANK[rule] ?? 0) > (SELF_RANK[alert.rule] ?? 0));
    if (fault !== undefined) return `inhibited:${fault.alertId}`;
    const silence = mutes.by(muteSubject(draft));
    if (silence !== null) return `silence:${silence}`;
    if (alert.rule === 'workspace_jump') {
      // One cause, one alert: what all tenants do together is what the total does.
      const same = open.find(({ rule, periodKey }) => rule === 'incident' && periodKey === alert.periodKey);
      return same === undefined ? null : `incident:${same.alertId}`;
    }
    if (alert.incidentKey === null) return null;
    const incident = incidents.get(alert.incidentKey) ?? rows.byKey(alert.incidentKey);
    incidents.set(alert.incidentKey, incident);
    if (incident === null || !OPEN_ALERT_STATES.includes(incident.state)) return null;
    // It speaks for the stage that it has told of; who goes beyond, or grows on, is named.
    const speaks = change !== 'grown' && STAGE_RANK[alert.stage] <= STAGE_RANK[incident.stage];
    return speaks ? `incident:${incident.alertId}` : null;
  };
}

function isSelf(rule: RuleName): boolean {
  return (SELF_RULES as readonly RuleName[]).includes(rule);
}
