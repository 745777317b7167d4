import { ageMs } from '../../core/stored-time.ts';
import { type Level, OPEN_ALERT_STATES } from '../../core/text/alert-words.ts';
import { alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import { inserter, type SQL } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { tenantIdOf } from '../../ledger/store/subjects.ts';
import { PACE_CONFIRM_MS } from '../forecast/pace.ts';
import type { BookContext } from '../pipeline/book-context.ts';
import { type Crowds, findCrowds } from '../pipeline/bulk-pending.ts';
import { createExplainer } from '../pipeline/inhibit.ts';
import { readMutes } from '../pipeline/silence.ts';
import type { Observation } from '../rules/observation.ts';
import { isSystemRule } from '../rules/rules.ts';
import { type AlertChange, NEWS, type RunAlerts } from '../state/alert-change.ts';
import { AlertRows, type StoredAlert } from '../state/alert-store.ts';
import { type AlertChangeKind, advance } from '../state/lifecycle.ts';
import { renderBasis } from '../state/rule-snapshot.ts';
import { type DueMessage, Notifier, type Planned } from './notifier.ts';
import { readStandings, writeBaseline } from './pending.ts';

interface Draft {
  alert: StoredAlert;
  change: AlertChangeKind;
}

const transitionInserter = inserter(alertTransitions);

/** So long many that wait may wait for each other, after each was confirmed. */
const TOGETHER_MS = 86_400_000;

/**
 * The alerts of one workspace while something looks at them: `observe` moves each by what its rule says, and `finish` asks
 * what there is to tell of all of them. To be used inside one transaction.
 */
export class AlertBook {
  readonly #context: BookContext;
  readonly #rows: AlertRows;
  readonly #isCrowd: Crowds;
  /** What there is to evaluate, once somebody has asked for it. */
  #read: Map<number, StoredAlert> | null = null;
  #drafts: Draft[] = [];
  due: readonly DueMessage[] = [];

  constructor(context: BookContext) {
    this.#context = context;
    this.#rows = new AlertRows(context.connection, context.workspaceKey);
    this.#isCrowd = findCrowds(context);
  }

  open(): StoredAlert[] {
    this.#read ??= new Map(this.#rows.toEvaluate().map((alert) => [alert.alertKey, alert]));
    return [...this.#read.values()].filter(isOpen);
  }

  tenantId(tenantKey: number): string {
    return tenantIdOf(this.#context.connection, tenantKey);
  }

  /** Records what a rule says of its subject. The same said twice changes nothing. */
  observe(seen: Observation, known: StoredAlert | null = this.#rows.find(seen)): void {
    const { nowMs, runKey, seeding, at } = this.#context;
    const waits = (level: Level): boolean => known !== null && this.#mayBeOneOfMany(known, level);
    const next = advance(known, seen.judgement, { nowMs, runKey, seeding, waits });
    if (next === null) return;
    const { status, change } = next;
    const stored = known ?? this.#rows.insert(seen, this.#names(seen), status, at);
    const { previous, current, threshold } = seen;
    const alert: StoredAlert = {
      ...stored,
      ...status,
      previous,
      current,
      threshold,
      detail: seen.periodKey === null ? (seen.detail ?? stored.detail) : seen.detail,
      basis: renderBasis(seen),
    };
    if (change !== null) {
      this.#change(alert, change);
      if (change === 'fired') alert.firstFiredAt ??= at;
      if (NEWS.includes(change)) alert.notifiedCount = 0;
    }
    this.#rows.write(alert, known);
    this.#read?.set(alert.alertKey, alert);
  }

  /** While many wait, a pace gives the others another day to be told together with it, and is then told all the same. */
  #mayBeOneOfMany({ state, periodKey, tenantKey, pendingSinceMs }: StoredAlert, level: Level): boolean {
    if (state !== 'pending' || level !== 'likely' || periodKey === null || tenantKey === null) return false;
    if ((ageMs(pendingSinceMs, this.#context.nowMs) ?? 0) >= PACE_CONFIRM_MS + TOGETHER_MS) return false;
    return this.#isCrowd(periodKey);
  }

  /** Ends an alert whose period nobody looks at any more. */
  expire(alert: StoredAlert): void {
    const expired: StoredAlert = { ...alert, state: 'expired', clearRunKey: null, pendingSinceMs: null };
    this.#change(expired, 'expired');
    this.#rows.write(expired, alert);
    this.#read?.set(alert.alertKey, expired);
  }

  /** Asks what there is to tell, of all alerts or those with the keys, and writes down what happened with who hears of it. */
  finish({ only }: { only?: SQL } = {}): RunAlerts {
    const { connection, workspaceKey, nowMs, seeding } = this.#context;
    const alerts = only === undefined ? this.#current() : this.#rows.among(only);
    const explaining = only === undefined ? alerts.filter(isOpen) : this.#rows.explaining();
    const standings = readStandings(
      connection,
      [...alerts, ...explaining].map(({ alertKey }) => alertKey),
    );
    const wanted =
      only === undefined ? alerts.filter((alert) => isOpen(alert) || standings.isHeard(alert.alertKey)) : alerts;
    const notifier = new Notifier(this.#context, {
      standings,
      mutes: readMutes(connection, workspaceKey, nowMs),
      explains: createExplainer(explaining),
      tenantId: (tenantKey) => this.tenantId(tenantKey),
    });
    const drafted = new Map(this.#drafts.map((draft) => [draft.alert.alertKey, draft]));
    const plans = new Map<number, Planned>();
    for (const stored of wanted) {
      const { alertKey, rule } = stored;
      if (seeding && !isSystemRule(rule)) {
        writeBaseline(connection, alertKey);
        continue;
      }
      const planned = notifier.plan(stored);
      plans.set(alertKey, planned);
      const alert = drafted.get(alertKey)?.alert ?? stored;
      if (planned.news.length > 0) this.#note(alert, planned, drafted.has(alertKey));
    }
    const changes = this.#drafts.map((draft) => this.#write(draft, plans.get(draft.alert.alertKey)));
    this.#drafts = [];
    this.due = notifier.due;
    return { changes, due: notifier.fresh };
  }

  /** What there is to evaluate, as this book has left it. */
  #current(): StoredAlert[] {
    if (this.#read === null) return this.#rows.toEvaluate();
    return [...this.#read.values()].sort((a, b) => a.alertKey - b.alertKey);
  }

  /** What was told without anything having happened to the alert stands in its history, too. */
  #note(alert: StoredAlert, { news, notifiedCount }: Planned, hasChanged: boolean): void {
    const grows = news.includes('grown');
    if (hasChanged && !grows) return;
    if (grows) Object.assign(alert, { notifiedCount, ...(alert.state === 'acknowledged' ? { state: 'firing' } : {}) });
    if (!hasChanged) this.#change(alert, grows ? 'grown' : 'told');
    this.#rows.write(alert, null);
  }

  #change(alert: StoredAlert, change: AlertChangeKind): void {
    alert.revision += 1;
    alert.lastChangedAt = this.#context.at;
    this.#drafts.push({ alert, change });
  }

  #write({ alert, change }: Draft, planned: Planned | undefined): AlertChange {
    const { connection, runKey, actor, at, seeding } = this.#context;
    const { alertKey, alertId, revision, state, level, rule, severity, previous, current, threshold } = alert;
    const silentBecause = seeding && !isSystemRule(rule) ? 'seed' : silenceOf(change, planned);
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
      evidence: silent ? null : (planned?.evidence ?? null),
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

  #names({ tenantKey, periodKey }: { tenantKey: number | null; periodKey: number | null }) {
    return {
      workspaceId: this.#context.workspaceId,
      tenantId: tenantKey === null ? null : this.tenantId(tenantKey),
      period: periodKey === null ? null : periodOfKey(periodKey),
    };
  }
}

function isOpen({ state }: StoredAlert): boolean {
  return OPEN_ALERT_STATES.includes(state);
}

/** Why nobody hears of a change; null when somebody does. */
function silenceOf(change: AlertChangeKind, planned: Planned | undefined): string | null {
  if (planned?.because === null) return NEWS.includes(change) || planned.news.length > 0 ? null : 'quiet';
  if (change === 'resolved') return 'unheard';
  return NEWS.includes(change) ? (planned?.because ?? 'unheard') : 'quiet';
}
