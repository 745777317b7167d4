import { isoTime } from '../../core/clock.ts';
import { OPEN_ALERT_STATES, OPEN_ALERT_STATES_SQL } from '../../core/text/alert-words.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { type Observation, observation } from '../evaluate/observation.ts';
import { judgeIncident } from '../rules/incident.ts';
import { STAGE_RANK, type Stage } from '../rules/rule.ts';
import { type BookContext, NEWS, type UnpublishedChange } from './alert-change.ts';
import { compareFigures, creditsApart } from './alert-figures.ts';
import type { AlertRows, StoredAlert } from './alert-rows.ts';
import type { Mutes } from './mutes.ts';

/** What comes within so long is one event. */
const TOGETHER_MS = 86_400_000;

interface Sources {
  rows: AlertRows;
  mutes: Mutes;
  drafts: UnpublishedChange[];
}

/**
 * Looks whether what this run has found is one event of the workspace, and has it observed as an incident. Counted are
 * alerts of tenants in one period that came to their stage within a day, and paces that wait to be confirmed. Whoever
 * comes to something that an open incident speaks of belongs to it.
 */
export function gatherIncidents(context: BookContext, sources: Sources, observe: (seen: Observation) => void): void {
  const { connection, nowMs } = context;
  const { rows, mutes, drafts } = sources;
  const touched = new Set(
    drafts.flatMap(({ alert, change }) => {
      const counts = NEWS.includes(change) || change === 'pending';
      return counts && alert.tenantKey !== null && alert.periodKey !== null ? [alert.periodKey] : [];
    }),
  );
  if (touched.size === 0) return;
  const tenantId = connection.prepare('SELECT tenant_id FROM tenants WHERE tenant_key = ?').pluck();
  const drafted = new Map(drafts.map((draft) => [draft.alert.alertKey, draft.alert]));
  const sinceAt = isoTime(nowMs - TOGETHER_MS);
  const open = rows.open().map((alert) => drafted.get(alert.alertKey) ?? alert);
  const leaderOf = connection
    .prepare('SELECT rule FROM alerts WHERE incident_key = ? GROUP BY rule ORDER BY count(*) DESC LIMIT 1')
    .pluck();
  for (const periodKey of touched) {
    const own = open.filter(({ periodKey: key, tenantKey }) => key === periodKey && tenantKey !== null);
    const period = periodOfKey(periodKey);
    const names = (alert: StoredAlert) => String(tenantId.get(alert.tenantKey));
    const recent = own.filter(({ state, lastChangedAt, rule, tenantKey, current }) => {
      if (state !== 'pending' && (state !== 'firing' || lastChangedAt <= sinceAt)) return false;
      const name = String(tenantId.get(tenantKey));
      return mutes.by({ rule, tenantId: name, period, credits: current?.credits ?? null }) === null;
    });
    const stages = highestStages(recent);
    const judgement = judgeIncident({ stages, tenants: countTenants(context, periodKey) });
    if (judgement !== null) {
      const members = [
        ...new Set([...recent].sort((a, b) => compareFigures(creditsApart(b), creditsApart(a))).map(names)),
      ];
      observe(observation({ rule: 'incident', periodKey, tenantKey: null, judgement, members }));
    }
    const incident = rows.find({ rule: 'incident', periodKey, tenantKey: null });
    if (incident === null || !OPEN_ALERT_STATES.includes(incident.state)) continue;
    const leader = judgement === null ? leaderOf.get(incident.alertKey) : null;
    const joining =
      judgement === null ? own.filter(({ alertKey, rule }) => drafted.has(alertKey) && rule === leader) : recent;
    for (const alert of joining) {
      if (alert.incidentKey === incident.alertKey) continue;
      alert.incidentKey = incident.alertKey;
      rows.write(alert, null);
    }
  }
}

/** So many tenants that wait at once may be an incident that forms. */
const CROWD = 5;

/** Whether more than a tenth of a period's tenants waited for their pace to be confirmed. */
export type Crowds = (periodKey: number) => boolean;

/** Counts who waits now: before a run changes any, so that the order in which alerts are looked at decides nothing. */
export function findCrowds(context: BookContext): Crowds {
  const { connection, workspaceKey } = context;
  const rows = connection
    .prepare(
      `SELECT period_key, count(*) FROM alerts
       WHERE workspace_key = ? AND state IN ${OPEN_ALERT_STATES_SQL} AND state = 'pending' AND tenant_key IS NOT NULL
       GROUP BY period_key`,
    )
    .raw()
    .all(workspaceKey) as [number, number][];
  const waiting = new Map(rows.filter(([, count]) => count >= CROWD));
  const known = new Map<number, boolean>();
  return (periodKey) => {
    const count = waiting.get(periodKey);
    if (count === undefined) return false;
    const found = known.get(periodKey) ?? count * 10 > countTenants(context, periodKey);
    known.set(periodKey, found);
    return found;
  };
}

/** So many times its threshold a member of an incident is out of the common. */
const RUNAWAY = 2n;

/** Whether an open incident has named what comes of this alert, as long as it does not run away from the others. */
export function isExpected({ alert }: UnpublishedChange, rows: AlertRows): boolean {
  const { incidentKey, rule, current, threshold } = alert;
  if (incidentKey === null || rule !== 'jump' || current === null || threshold === null) return false;
  const incident = rows.byKey(incidentKey);
  return incident !== null && OPEN_ALERT_STATES.includes(incident.state) && current.credits < RUNAWAY * threshold;
}

/** Incidents that none of their alerts keeps open any more; each says its end. */
export function endedIncidents({ connection, workspaceKey }: BookContext, rows: AlertRows): StoredAlert[] {
  const ended = connection
    .prepare(
      `SELECT i.alert_key FROM alerts i
       WHERE i.workspace_key = ? AND i.rule = 'incident' AND i.state IN ${OPEN_ALERT_STATES_SQL}
         AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.incident_key = i.alert_key
           AND a.state IN ${OPEN_ALERT_STATES_SQL})`,
    )
    .pluck()
    .all(workspaceKey) as number[];
  return ended.flatMap((alertKey) => rows.byKey(alertKey) ?? []);
}

/** Tenants that there is something to say of: with credits in the period before, or with a record of this one. */
export function countTenants({ connection }: BookContext, periodKey: number): number {
  const [before, now] = connection
    .prepare(
      `SELECT (SELECT count(*) FROM tenant_usage WHERE period_key = @periodKey - 1 AND credits_used > 0),
         (SELECT count(*) FROM tenant_usage WHERE period_key = @periodKey AND withdrawn = 0)`,
    )
    .raw()
    .get({ periodKey }) as [number, number];
  return Math.max(before, now);
}

/** One a tenant. */
function highestStages(alerts: readonly StoredAlert[]): Stage[] {
  const byTenant = new Map<number | null, Stage>();
  for (const { tenantKey, stage } of alerts) {
    const known = byTenant.get(tenantKey);
    if (known === undefined || STAGE_RANK[stage] > STAGE_RANK[known]) byTenant.set(tenantKey, stage);
  }
  return [...byTenant.values()];
}
