import type Database from 'better-sqlite3';
import { OPEN_ALERT_STATES_SQL } from '../../core/alert-words.ts';
import { periodOfKey } from '../../ledger/schema/keys.ts';
import { type Observation, observation } from '../evaluate/observation.ts';
import { createPublisher } from '../notify/publisher.ts';
import { judgeIncident } from '../rules/incident.ts';
import { clear, STAGE_RANK, type Stage } from '../rules/rule.ts';
import { type BookContext, type Draft, muteSubject, NEWS, type RunAlerts } from './alert-change.ts';
import { AlertRows, figuresOf, type StoredAlert, type SubjectNames } from './alert-rows.ts';
import { advance } from './lifecycle.ts';
import { readMutes } from './mutes.ts';
import { createSilencer } from './silencer.ts';

/**
 * The alerts of one workspace while something looks at them: `observe` moves each by what its rule says, and `finish`
 * decides who hears of it, because only all changes together show an incident. To be used inside one transaction.
 */
export class AlertBook {
  readonly #context: BookContext;
  readonly #rows: AlertRows;
  readonly #tenantId: Database.Statement;
  #drafts: Draft[] = [];

  constructor(context: BookContext) {
    this.#context = context;
    this.#rows = new AlertRows(context.connection, context.workspaceKey);
    this.#tenantId = context.connection.prepare('SELECT tenant_id FROM tenants WHERE tenant_key = ?').pluck();
  }

  /** The alerts that have not ended. */
  open(): StoredAlert[] {
    return this.#rows.open();
  }

  tenantId(tenantKey: number): string {
    return String(this.#tenantId.get(tenantKey));
  }

  /** Records what a rule says of its subject. The same said twice changes nothing. */
  observe(seen: Observation, known: StoredAlert | null = this.#rows.find(seen)): void {
    const { at, nowMs, runKey, seeding } = this.#context;
    const next = advance(known, seen.judgement, { nowMs, runKey, seeding });
    if (next === null) return;
    const names = this.#names(seen);
    const severity =
      seen.judgement.verdict === 'holds' ? seen.judgement.finding.severity : (known?.severity ?? 'warning');
    const stored = known ?? this.#rows.insert(seen, names, next.status, severity, at);
    const alert: StoredAlert = { ...stored, ...next.status, ...figuresOf(seen), severity };
    if (next.change !== null) {
      alert.revision += 1;
      alert.lastChangedAt = at;
      if (next.change === 'fired') alert.firstFiredAt ??= at;
      this.#drafts.push({ alert, change: next.change, seen, names });
    }
    if (known === null || differs(known, alert)) this.#rows.write(alert, seen.detail);
  }

  /** Ends an alert whose period nobody looks at any more. */
  expire(alert: StoredAlert): void {
    const { at } = this.#context;
    const expired: StoredAlert = { ...alert, state: 'expired', revision: alert.revision + 1, lastChangedAt: at };
    this.#rows.write(expired, null);
    const seen = observation({ ...expired, judgement: clear(true), ...figuresAsSeen(expired) });
    this.#drafts.push({ alert: expired, change: 'expired', seen, names: this.#names(expired) });
  }

  /** Writes the transitions and, for what somebody must hear of, an outbox row for each channel that its route names. */
  finish(): RunAlerts {
    if (!this.#context.seeding) this.#gatherIncidents();
    this.#endIncidents();
    const outcome: RunAlerts = { changes: [], notificationIds: [] };
    const publish = createPublisher(this.#context, createSilencer(this.#context, this.#rows));
    for (const draft of this.#drafts) publish(draft, outcome);
    this.#drafts = [];
    return outcome;
  }

  #gatherIncidents(): void {
    const { connection, workspaceKey, nowMs } = this.#context;
    const mutes = readMutes(connection, workspaceKey, nowMs);
    const byPeriod = new Map<number, Draft[]>();
    for (const draft of this.#drafts) {
      const { periodKey, tenantKey } = draft.alert;
      if (!NEWS.includes(draft.change) || periodKey === null || tenantKey === null) continue;
      if (mutes(muteSubject(draft)) !== null) continue;
      const drafts = byPeriod.get(periodKey) ?? [];
      drafts.push(draft);
      byPeriod.set(periodKey, drafts);
    }
    const countTenants = connection
      .prepare('SELECT count(*) FROM tenant_usage WHERE period_key = ? AND withdrawn = 0')
      .pluck();
    for (const [periodKey, drafts] of byPeriod) {
      const stages = highestStages(drafts);
      const judgement = judgeIncident({ stages, tenants: Number(countTenants.get(periodKey)) });
      if (judgement === null) continue;
      const members = [...new Set(drafts.map(({ names }) => names.tenantId ?? ''))];
      this.observe(observation({ rule: 'incident', periodKey, tenantKey: null, judgement, members }));
      const incident = this.#rows.find({ rule: 'incident', periodKey, tenantKey: null });
      for (const draft of drafts) {
        draft.alert.incidentKey = incident?.alertKey ?? null;
        this.#rows.write(draft.alert, null);
      }
    }
  }

  /** An incident is over when none of its alerts is open: resolved with the last of them, or forgotten like them. */
  #endIncidents(): void {
    const { connection, workspaceKey } = this.#context;
    const ended = connection
      .prepare(
        `SELECT i.alert_key FROM alerts i
         WHERE i.workspace_key = ? AND i.rule = 'incident' AND i.state IN ${OPEN_ALERT_STATES_SQL}
           AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.incident_key = i.alert_key
             AND a.state IN ${OPEN_ALERT_STATES_SQL})`,
      )
      .pluck()
      .all(workspaceKey) as number[];
    for (const alertKey of ended) {
      const incident = this.#rows.byKey(alertKey);
      if (incident === null) continue;
      const resolved = this.#drafts.some(
        (draft) => draft.change === 'resolved' && draft.alert.incidentKey === alertKey,
      );
      if (resolved) this.observe(observation({ ...incident, judgement: clear(true), ...NO_FIGURES }), incident);
      else this.expire(incident);
    }
  }

  #names({ tenantKey, periodKey }: { tenantKey: number | null; periodKey: number | null }): SubjectNames {
    return {
      workspaceId: this.#context.workspaceId,
      tenantId: tenantKey === null ? null : this.tenantId(tenantKey),
      period: periodKey === null ? null : periodOfKey(periodKey),
    };
  }
}

const NO_FIGURES = { previous: null, current: null, threshold: null };

function figuresAsSeen(alert: StoredAlert): Partial<Observation> {
  const { previousCredits, previousRequests, currentCredits, currentRequests, threshold } = alert;
  const pair = (credits: bigint | null, requests: bigint | null) => {
    return credits === null || requests === null ? null : { credits, requests };
  };
  return {
    previous: pair(previousCredits, previousRequests),
    current: pair(currentCredits, currentRequests),
    threshold,
  };
}

function highestStages(drafts: readonly Draft[]): Stage[] {
  const byTenant = new Map<number | null, Stage>();
  for (const { alert } of drafts) {
    const known = byTenant.get(alert.tenantKey);
    if (known === undefined || STAGE_RANK[alert.stage] > STAGE_RANK[known]) byTenant.set(alert.tenantKey, alert.stage);
  }
  return [...byTenant.values()];
}

function differs(before: StoredAlert, after: StoredAlert): boolean {
  return (Object.keys(after) as (keyof StoredAlert)[]).some((key) => before[key] !== after[key]);
}
