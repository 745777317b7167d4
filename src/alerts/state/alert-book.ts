import { ageMs } from '../../core/stored-time.ts';
import { type Level, OPEN_ALERT_STATES } from '../../core/text/alert-words.ts';
import { alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import { inserter, type SQL } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { tenantIdOf } from '../../ledger/store/subjects.ts';
import { PACE_CONFIRMATION_MS } from '../forecast/pace.ts';
import type { Observation } from '../rules/observation.ts';
import { type AlertChange, type EvaluationContext, NOTIFIABLE_CHANGES } from './alert-change.ts';
import { AlertStore, type StoredAlert, type SubjectNames } from './alert-store.ts';
import { createBulkPendingCheck } from './bulk-pending.ts';
import { type AlertChangeKind, advanceAlert } from './lifecycle.ts';
import { toSnapshotJson } from './rule-snapshot.ts';

interface DraftTransition {
  alert: StoredAlert;
  change: AlertChangeKind;
}

/** Whether anybody is notified of a transition, and the evidence that the message shows. */
export interface TransitionOutcome {
  /** Why nobody is notified; null if somebody is. */
  silentBecause: string | null;
  evidence: string | null;
}

const transitionInserter = inserter(alertTransitions);

/** A confirmed alert waits at most this long for other pending alerts, so that they are notified together. */
const MAX_BULK_WAIT_MS = 86_400_000;

/**
 * The alerts of one workspace, or of the ledger itself, during an evaluation. `observe` changes an alert's state after
 * a rule's result. `writeTransitions` writes the state changes at the end, each with whether anybody was notified. Used
 * inside one transaction.
 */
export class AlertBook<C extends EvaluationContext = EvaluationContext> {
  readonly context: C;
  readonly #rows: AlertStore;
  readonly #isBulkPending: (periodKey: number) => boolean;
  /** Open alerts by key; null until they are read. */
  #read: Map<number, StoredAlert> | null = null;
  #drafts: DraftTransition[] = [];
  readonly #draftByKey = new Map<number, DraftTransition>();

  constructor(context: C) {
    this.context = context;
    this.#rows = new AlertStore(context.connection, context.workspaceKey);
    this.#isBulkPending = createBulkPendingCheck(context.connection, context.workspaceKey);
  }

  open(): StoredAlert[] {
    this.#read ??= new Map(this.#rows.toEvaluate().map((alert) => [alert.alertKey, alert]));
    return [...this.#read.values()].filter(isOpen);
  }

  tenantId(tenantKey: number): string {
    return tenantIdOf(this.context.connection, tenantKey);
  }

  /** Records a rule's result about a tenant, a workspace or the ledger. The same result again changes nothing. */
  observe(seen: Observation, stored: StoredAlert | null = this.#rows.find(seen)): void {
    const { nowMs, runKey, seeding, at } = this.context;
    const waits = (level: Level): boolean => stored !== null && this.#waitsForOthers(stored, level);
    const next = advanceAlert(stored, seen.judgement, { nowMs, runKey, seeding, waits });
    if (next === null) return;
    const { status, change } = next;
    const row = stored ?? this.#rows.insert(seen, this.#names(seen), status, at);
    const { previous, current, threshold } = seen;
    const alert: StoredAlert = {
      ...row,
      ...status,
      previous,
      current,
      threshold,
      detail: seen.periodKey === null ? (seen.detail ?? row.detail) : seen.detail,
      basis: toSnapshotJson(seen),
    };
    if (change !== null) {
      this.#draft(alert, change);
      if (change === 'fired') alert.firstFiredAt ??= at;
      if (NOTIFIABLE_CHANGES.includes(change)) alert.notifiedCount = 0;
    }
    this.#rows.write(alert, stored);
    this.#read?.set(alert.alertKey, alert);
  }

  /**
   * Reports whether a pending likely alert waits another day, because many tenants have one and they should be
   * notified together.
   */
  #waitsForOthers({ state, periodKey, tenantKey, pendingSinceMs }: StoredAlert, level: Level): boolean {
    if (state !== 'pending' || level !== 'likely' || periodKey === null || tenantKey === null) return false;
    if ((ageMs(pendingSinceMs, this.context.nowMs) ?? 0) >= PACE_CONFIRMATION_MS + MAX_BULK_WAIT_MS) return false;
    return this.#isBulkPending(periodKey);
  }

  /** Ends an alert because its figures are no longer read. */
  expire(alert: StoredAlert): void {
    const expired: StoredAlert = { ...alert, state: 'expired', clearRunKey: null, pendingSinceMs: null };
    this.#draft(expired, 'expired');
    this.#rows.write(expired, alert);
    this.#read?.set(alert.alertKey, expired);
  }

  /** Returns the alerts to evaluate, in the order of their keys. `only` selects some of them. */
  toEvaluate(only?: SQL): StoredAlert[] {
    if (only !== undefined) return this.#rows.among(only);
    if (this.#read === null) return this.#rows.toEvaluate();
    return [...this.#read.values()].sort((a, b) => a.alertKey - b.alertKey);
  }

  /** Returns the open alerts that may inhibit others. */
  inhibiting(): StoredAlert[] {
    return this.#rows.inhibiting();
  }

  /**
   * Records in an alert's history that it was notified. Growth is always recorded; other notifications only if this
   * evaluation has no transition of the alert yet.
   */
  noteNotification(stored: StoredAlert, { grown, notifiedCount }: { grown: boolean; notifiedCount: number }): void {
    const drafted = this.#draftByKey.get(stored.alertKey);
    if (drafted !== undefined && !grown) return;
    const alert = drafted?.alert ?? stored;
    if (grown) {
      Object.assign(alert, { notifiedCount, ...(alert.state === 'acknowledged' ? { state: 'firing' } : {}) });
    }
    if (drafted === undefined) this.#draft(alert, grown ? 'grown' : 'notified');
    this.#rows.write(alert, null);
  }

  /** Writes the transitions of this evaluation, each with the outcome that `outcomeOf` returns. */
  writeTransitions(outcomeOf: (alert: StoredAlert, change: AlertChangeKind) => TransitionOutcome): AlertChange[] {
    const changes = this.#drafts.map((draft) => this.#write(draft, outcomeOf(draft.alert, draft.change)));
    this.#drafts = [];
    this.#draftByKey.clear();
    return changes;
  }

  #draft(alert: StoredAlert, change: AlertChangeKind): void {
    alert.revision += 1;
    alert.lastChangedAt = this.context.at;
    const draft = { alert, change };
    this.#drafts.push(draft);
    this.#draftByKey.set(alert.alertKey, draft);
  }

  #write({ alert, change }: DraftTransition, { silentBecause, evidence }: TransitionOutcome): AlertChange {
    const { connection, runKey, actor, at } = this.context;
    const { alertKey, alertId, revision, state, level, rule, severity, previous, current, threshold } = alert;
    const silent = silentBecause !== null;
    transitionInserter(connection)({
      alertKey,
      revision,
      change,
      state,
      level,
      runKey,
      actor,
      at,
      currentCredits: current?.credits ?? null,
      silent: silent ? 1 : 0,
      silentBecause,
      note: null,
      evidence: silent ? null : evidence,
    });
    const { tenantId, period } = this.#names(alert);
    return {
      alertId,
      change,
      rule,
      level,
      severity,
      tenantId,
      period,
      previous,
      current,
      threshold,
      silent,
      silentBecause,
    };
  }

  #names({ tenantKey, periodKey }: { tenantKey: number | null; periodKey: number | null }): SubjectNames {
    return {
      workspaceId: this.context.workspaceId,
      tenantId: tenantKey === null ? null : this.tenantId(tenantKey),
      period: periodKey === null ? null : periodOfKey(periodKey),
    };
  }
}

export function isOpen({ state }: Pick<StoredAlert, 'state'>): boolean {
  return OPEN_ALERT_STATES.includes(state);
}
