import type { NotificationEvent } from '../../core/text/alert-words.ts';
import { alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, eq, inArray, prepared, type SQL, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { MessageComposer } from '../messages/compose.ts';
import { renderEvidence } from '../messages/evidence.ts';
import type { Evidence, Notification } from '../messages/facts/facts.ts';
import type { CurrentAlert } from '../pipeline/decide.ts';
import { GroupWait } from '../pipeline/group.ts';
import { createInhibitorFinder, type InhibitorFinder } from '../pipeline/inhibit.ts';
import type { NotifyContext } from '../pipeline/notify-context.ts';
import { type PipelineAlert, runPipeline } from '../pipeline/pipeline.ts';
import { type ChannelRoute, routeTakes } from '../pipeline/route.ts';
import type { PendingNotification } from '../pipeline/schedule.ts';
import { readSilences, type SilenceMatcher } from '../pipeline/silence.ts';
import { isFinal, isSystemRule, usageKind } from '../rules/rules.ts';
import { type AlertBook, isOpen } from '../state/alert-book.ts';
import { type AlertChange, type EvaluationResult, NOTIFIABLE_CHANGES } from '../state/alert-change.ts';
import type { StoredAlert } from '../state/alert-store.ts';
import { countTenantsWithAlert, type TenantCounts } from '../state/bulk-pending.ts';
import type { AlertChangeKind } from '../state/lifecycle.ts';
import { type NotificationLog, readNotificationLog, writeBaseline, writePendingNotification } from './pending.ts';

/** A notification to send to one channel now. */
export interface DueNotification {
  alert: StoredAlert;
  route: ChannelRoute;
  event: NotificationEvent;
  notifiedCount: number;
  pending: PendingNotification;
  revision: number;
  /** True if the notification was not pending before this evaluation. */
  isNew: boolean;
  workspaceKey: number | null;
  compose(revision: number): Notification;
  /** Counts the tenants for which the rule holds in the alert's month. */
  countTenants(): TenantCounts;
}

/** The decision about one alert, over all channels. */
interface AlertOutcome {
  /** Events that became pending for a channel. */
  events: NotificationEvent[];
  /** The number of growth notifications on the channel that got most. */
  notifiedCount: number;
  /** Why no channel is notified; null if one is, or if a delivery is in progress. */
  reason: string | null;
  evidence: string | null;
}

/**
 * Decides for all alerts of an evaluation which channels are notified. Stores their pending notifications and the
 * evaluation's state changes.
 */
export function notifyChannels(book: AlertBook<NotifyContext>): EvaluationResult {
  const { changes, due } = evaluate(book);
  return { changes, due: due.filter(({ isNew }) => isNew).length };
}

/** Decides again about the alerts that `only` selects. Returns the notifications that are due now. */
export function decideSelected(book: AlertBook<NotifyContext>, only: SQL): readonly DueNotification[] {
  return evaluate(book, only).due;
}

function evaluate(
  book: AlertBook<NotifyContext>,
  only?: SQL,
): { changes: AlertChange[]; due: readonly DueNotification[] } {
  const { connection, workspaceKey, nowMs, seeding } = book.context;
  const alerts = book.toEvaluate(only);
  const inhibiting = only === undefined ? alerts.filter(isOpen) : book.inhibiting();
  const log = readNotificationLog(
    connection,
    [...alerts, ...inhibiting].map(({ alertKey }) => alertKey),
  );
  const notifier = new Notifier(book, {
    log,
    silences: readSilences(connection, workspaceKey, nowMs),
    inhibition: createInhibitorFinder(inhibiting),
  });
  const outcomes = new Map<number, AlertOutcome>();
  for (const alert of alerts) {
    const { alertKey, rule } = alert;
    if (only === undefined && !isOpen(alert) && !log.isActive(alertKey)) continue;
    if (seeding && !isSystemRule(rule)) {
      writeBaseline(connection, alertKey);
      continue;
    }
    const outcome = notifier.notify(alert);
    outcomes.set(alertKey, outcome);
    const { events, notifiedCount } = outcome;
    if (events.length > 0) book.noteNotification(alert, { grown: events.includes('grown'), notifiedCount });
  }
  const changes = book.writeTransitions(({ alertKey, rule }, change) => {
    const outcome = outcomes.get(alertKey);
    const silentBecause = seeding && !isSystemRule(rule) ? 'seed' : silentReason(change, outcome);
    return { silentBecause, evidence: outcome?.evidence ?? null };
  });
  return { changes, due: notifier.due };
}

/** Returns why nobody is notified of a change; null if somebody is. */
function silentReason(change: AlertChangeKind, outcome: AlertOutcome | undefined): string | null {
  const isNotifiable = NOTIFIABLE_CHANGES.includes(change);
  if (outcome?.reason === null) return isNotifiable || outcome.events.length > 0 ? null : 'quiet';
  if (change === 'resolved') return 'not_notified';
  return isNotifiable ? (outcome?.reason ?? 'not_notified') : 'quiet';
}

interface Sources {
  log: NotificationLog;
  silences: SilenceMatcher;
  inhibition: InhibitorFinder;
}

const beginsAndEnds = prepared((db) => {
  const { alertKey, change, at, revision } = alertTransitions;
  const isOfAlert = and(eq(alertKey, sql.placeholder('alertKey')), inArray(change, ['fired', 'resolved']));
  return db.select({ change, at }).from(alertTransitions).where(isOfAlert).orderBy(asc(revision));
});

/** Runs the pipeline for alerts of one workspace and stores the pending notification of each channel. */
class Notifier {
  readonly #book: AlertBook<NotifyContext>;
  readonly #sources: Sources;
  readonly #composer: MessageComposer;
  readonly #groups: GroupWait;
  readonly due: DueNotification[] = [];

  constructor(book: AlertBook<NotifyContext>, sources: Sources) {
    this.#book = book;
    this.#sources = sources;
    this.#composer = new MessageComposer(book.context);
    this.#groups = new GroupWait(book.context.connection, book.context);
  }

  notify(alert: StoredAlert): AlertOutcome {
    const { connection, nowMs, at, routes } = this.#book.context;
    const { alertKey } = alert;
    const subject = this.#subject(alert);
    const steps = { inhibitorOf: this.#inhibitorOf, groups: this.#groups, nowMs };
    const outcome: AlertOutcome = { events: [], notifiedCount: 0, reason: 'unrouted', evidence: null };
    const suppressed: string[] = [];
    for (const route of routes) {
      const { channel } = route;
      const { last, pending: before, revision, deliveryKey } = this.#sources.log.of(alertKey, channel);
      if (deliveryKey !== null) {
        outcome.reason = null;
        continue;
      }
      const { decision, pending } = runPipeline(subject, { route, last, before }, steps);
      writePendingNotification(connection, { alertKey, channel }, before, pending);
      if (decision.event === null) {
        suppressed.push(decision.reason);
        continue;
      }
      if (pending.givenUp === 1) {
        // A notification that was given up is sent only after a replay, or with another event.
        suppressed.push('given_up');
        continue;
      }
      const { event, notifiedCount } = decision;
      const isNew = pending.pending !== before.pending;
      outcome.reason = null;
      if (isNew) {
        outcome.events.push(event);
        outcome.notifiedCount = Math.max(outcome.notifiedCount, notifiedCount);
      }
      if (pending.dueAt !== null && pending.dueAt <= at) {
        this.due.push(this.#dueNotification({ alert, route, event, notifiedCount, pending, revision, isNew }, subject));
      }
    }
    if (outcome.reason !== null) {
      outcome.reason = suppressed.find((reason) => reason !== 'unrouted') ?? outcome.reason;
    }
    if (outcome.events.length > 0) outcome.evidence = renderEvidence(subject.evidence());
    return outcome;
  }

  #dueNotification(
    due: Pick<DueNotification, 'alert' | 'route' | 'event' | 'notifiedCount' | 'pending' | 'revision' | 'isNew'>,
    { tenantId, evidence }: NotifiedSubject,
  ): DueNotification {
    const { alert, route, event, notifiedCount } = due;
    const { connection, workspaceKey } = this.#book.context;
    const { rule, periodKey } = alert;
    return {
      ...due,
      workspaceKey,
      compose: (revision) =>
        this.#composer.message(alert, { tenantId, evidence: evidence() }, { route, event, revision, notifiedCount }),
      countTenants: () =>
        periodKey === null
          ? { tenants: 0, likely: 0, reached: 0 }
          : countTenantsWithAlert(connection, { rule, periodKey }),
    };
  }

  #inhibitorOf = (alert: StoredAlert, route: ChannelRoute): string | null =>
    this.#sources.inhibition(alert, (other) => this.#isNotified(other, route));

  /**
   * Reports whether a channel was or will be notified of an alert that may inhibit others. A baseline inhibits
   * nothing, because nobody was notified of it.
   */
  #isNotified(alert: StoredAlert, route: ChannelRoute): boolean {
    const { tenantId, silence } = this.#match(alert);
    if (!isSystemRule(alert.rule)) {
      const { last } = this.#sources.log.of(alert.alertKey, route.channel);
      if (last?.event === 'baseline' || (silence !== null && last?.open !== true)) return false;
    }
    return routeTakes(route, { ...alert, workspaceId: this.#book.context.workspaceId, tenantId });
  }

  #subject(alert: StoredAlert): NotifiedSubject {
    const { tenantId, silence, passedLimits } = this.#match(alert);
    const composer = this.#composer;
    let evidence: Evidence | null = null;
    return {
      alert,
      current: this.#currentOf(alert),
      workspaceId: this.#book.context.workspaceId,
      tenantId,
      silence,
      passedLimits,
      evidence() {
        evidence ??= composer.evidence(alert, { tenantId, planned: passedLimits });
        return evidence;
      },
    };
  }

  #match({ rule, cause, periodKey, tenantKey, current }: StoredAlert) {
    const tenantId = tenantKey === null ? null : this.#book.tenantId(tenantKey);
    const period = periodKey === null ? null : periodOfKey(periodKey);
    const { silence, passedLimits } = this.#sources.silences({
      rule,
      cause,
      tenantId,
      period,
      credits: current?.credits ?? null,
    });
    return { tenantId, silence, passedLimits };
  }

  #currentOf(alert: StoredAlert): CurrentAlert {
    const { episode, level, severity, magnitude, state, rule, alertKey, lastChangedAt } = alert;
    const isSystem = isSystemRule(rule);
    const kind = usageKind(rule);
    const changes = isSystem ? beginsAndEnds(this.#book.context.connection).all({ alertKey }) : [];
    const begins = changes.filter(({ change }) => change === 'fired').map(({ at }) => Date.parse(at));
    return {
      episode,
      level,
      magnitude,
      severity,
      isBitMask: kind?.growth?.by === 'facts',
      isImmaterial: kind?.stake?.of === 'growth' && severity === 'warning',
      isFromForecast: kind?.levels?.fromForecast === true,
      holding: state === 'firing' || state === 'acknowledged',
      acknowledged: state === 'acknowledged',
      isFinal: isFinal(alert),
      isClearing: alert.clearRunKey !== null,
      system: isSystem ? { begins, changedMs: Date.parse(changes.at(-1)?.at ?? lastChangedAt) } : null,
    };
  }
}

interface NotifiedSubject extends PipelineAlert {
  /** Gathers the evidence when it is first used. */
  evidence(): Evidence;
}
