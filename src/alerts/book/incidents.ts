import { isoTime } from '../../core/clock.ts';
import { onceEach } from '../../core/one-at-a-time.ts';
import { OPEN_ALERT_STATES } from '../../core/text/alert-words.ts';
import { prepared, query } from '../../ledger/store/query.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, count, desc, eq, gt, gte, isNotNull, type SQL, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { tenantUsage } from '../../ledger/store/schema/usage-tables.ts';
import { tenantIdOf } from '../../ledger/store/subjects.ts';
import { type Observation, observation } from '../evaluate/observation.ts';
import { judgeIncident } from '../rules/incident.ts';
import { type RuleName, STAGE_RANK, type Stage } from '../rules/rule.ts';
import { type BookContext, NEWS, type UnpublishedChange } from './alert-change.ts';
import { compareFigures, creditsApart } from './alert-figures.ts';
import { type AlertRows, isOpenAlert, type StoredAlert } from './alert-rows.ts';
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
  const drafted = new Map(drafts.map((draft) => [draft.alert.alertKey, draft.alert]));
  const sinceAt = isoTime(nowMs - TOGETHER_MS);
  const open = rows.open().map((alert) => drafted.get(alert.alertKey) ?? alert);
  for (const periodKey of touched) {
    const own = open.filter(({ periodKey: key, tenantKey }) => key === periodKey && tenantKey !== null);
    const period = periodOfKey(periodKey);
    const nameOf = ({ tenantKey }: StoredAlert) => (tenantKey === null ? '' : tenantIdOf(connection, tenantKey));
    const recent = own.filter((alert) => {
      const { state, lastChangedAt, rule, current } = alert;
      if (state !== 'pending' && (state !== 'firing' || lastChangedAt <= sinceAt)) return false;
      return mutes.by({ rule, tenantId: nameOf(alert), period, credits: current?.credits ?? null }) === null;
    });
    const stages = highestStages(recent);
    const judgement = judgeIncident({ stages, tenants: countTenants(context, periodKey) });
    if (judgement !== null) {
      const members = [
        ...new Set([...recent].sort((a, b) => compareFigures(creditsApart(b), creditsApart(a))).map(nameOf)),
      ];
      observe(observation({ rule: 'incident', periodKey, tenantKey: null, judgement, members }));
    }
    const incident = rows.find({ rule: 'incident', periodKey, tenantKey: null });
    if (incident === null || !OPEN_ALERT_STATES.includes(incident.state)) continue;
    const leader = judgement === null ? leaderOf(context, incident) : null;
    const joining =
      judgement === null ? own.filter(({ alertKey, rule }) => drafted.has(alertKey) && rule === leader) : recent;
    for (const alert of joining) {
      if (alert.incidentKey === incident.alertKey) continue;
      alert.incidentKey = incident.alertKey;
      rows.write(alert, null);
    }
  }
}

/** The rule that most alerts of an incident are of. */
function leaderOf({ connection }: BookContext, { alertKey }: StoredAlert): RuleName | null {
  const { rule, incidentKey } = alerts;
  const members = query(connection).select({ rule }).from(alerts).where(eq(incidentKey, alertKey));
  return members.groupBy(rule).orderBy(desc(count())).limit(1).get()?.rule ?? null;
}

/** So many tenants that wait at once may be an incident that forms. */
const CROWD = 5;

/** Whether more than a tenth of a period's tenants waited for their pace to be confirmed. */
export type Crowds = (periodKey: number) => boolean;

const crowdsOf = prepared((db) => {
  const { periodKey, tenantKey, state } = alerts;
  const isOwn = and(eq(alerts.workspaceKey, sql.placeholder('workspaceKey')), isOpenAlert);
  const waiting = db.select({ periodKey, waiting: count() }).from(alerts);
  return waiting
    .where(and(isOwn, eq(state, 'pending'), isNotNull(tenantKey)))
    .groupBy(periodKey)
    .having(gte(count(), CROWD));
});

/** Counts who waits now: before a run changes any, so that the order in which alerts are looked at decides nothing. */
export function findCrowds(context: BookContext): Crowds {
  const { connection, workspaceKey } = context;
  const crowds = crowdsOf(connection).all({ workspaceKey });
  const waiting = new Map(crowds.map((crowd) => [crowd.periodKey, crowd.waiting]));
  return onceEach((periodKey) => {
    const count = waiting.get(periodKey);
    return count !== undefined && count * 10 > countTenants(context, periodKey);
  });
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
  const incidents = rows.open().filter(({ rule }) => rule === 'incident');
  if (incidents.length === 0) return [];
  const { incidentKey } = alerts;
  const members = query(connection).selectDistinct({ incidentKey }).from(alerts);
  const held = members.where(and(eq(alerts.workspaceKey, workspaceKey), isOpenAlert, isNotNull(incidentKey))).all();
  const isHeld = new Set(held.map((member) => member.incidentKey));
  return incidents.filter(({ alertKey }) => !isHeld.has(alertKey));
}

/** Tenants that there is something to say of: with credits in the period before, or with a record of this one. */
export function countTenants({ connection }: BookContext, periodKey: number): number {
  const { creditsUsed, withdrawn } = tenantUsage;
  const countOf = (key: number, isCounted: SQL) =>
    query(connection)
      .select({ tenants: count() })
      .from(tenantUsage)
      .where(and(eq(tenantUsage.periodKey, key), isCounted))
      .get()?.tenants ?? 0;
  return Math.max(countOf(periodKey - 1, gt(creditsUsed, 0n)), countOf(periodKey, eq(withdrawn, 0)));
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
