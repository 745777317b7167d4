import { isDeepStrictEqual } from 'node:util';
import { isoTime } from '../../core/clock.ts';
import { ageMs, latestKnown } from '../../core/stored-time.ts';
import { prepared } from '../../ledger/store/query.ts';
import { alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import { and, desc, eq, gt, inArray, isNull, lte, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { tenantIdOf } from '../../ledger/store/subjects.ts';
import { type Observation, observation } from '../evaluate/observation.ts';
import { createPublisher } from '../notify/publisher.ts';
import { PACE_CONFIRM_MS } from '../rules/jump.ts';
import { clear, type Stage } from '../rules/rule.ts';
import { type BookContext, NEWS, type RunAlerts, type UnpublishedChange } from './alert-change.ts';
import { NO_FIGURES } from './alert-figures.ts';
import { AlertRows, type StoredAlert, type SubjectNames } from './alert-rows.ts';
import { type Crowds, endedIncidents, findCrowds, gatherIncidents, isExpected } from './incidents.ts';
import { advance } from './lifecycle.ts';
import { type Mutes, readMutes } from './mutes.ts';
import { createSilencer } from './silencer.ts';

/**
 * The alerts of one workspace while something looks at them: `observe` moves each by what its rule says, and `finish`
 * decides who hears of it, because only all changes together show an incident. To be used inside one transaction.
 */
export class AlertBook {
  readonly #context: BookContext;
  readonly #rows: AlertRows;
  #drafts: UnpublishedChange[] = [];
  #mutes: Mutes | null = null;
  readonly #isCrowd: Crowds;

  constructor(context: BookContext) {
    this.#context = context;
    this.#rows = new AlertRows(context.connection, context.workspaceKey);
    this.#isCrowd = findCrowds(context);
  }

  /** The alerts that have not ended. */
  open(): StoredAlert[] {
    return this.#rows.open();
  }

  tenantId(tenantKey: number): string {
    return tenantIdOf(this.#context.connection, tenantKey);
  }

  /** Records what a rule says of its subject. The same said twice changes nothing. */
  observe(seen: Observation, known: StoredAlert | null = this.#rows.find(seen)): void {
    const { at, nowMs, runKey, seeding } = this.#context;
    const waits = (stage: Stage): boolean =>
      known !== null && (this.#wasTold(known, stage) || this.#mayBeIncident(known, stage));
    const next = advance(known, seen.judgement, { nowMs, runKey, seeding, waits });
    if (next === null) return;
    const names = this.#names(seen);
    const severity =
      seen.judgement.verdict === 'holds' ? seen.judgement.finding.severity : (known?.severity ?? 'warning');
    const stored = known ?? this.#rows.insert(seen, names, next.status, severity, at);
    const { previous, current, threshold } = seen;
    const alert: StoredAlert = { ...stored, ...next.status, previous, current, threshold, severity };
    const planned = this.#planned(alert, names);
    let { change } = next;
    if (change === null && planned !== null && this.#breaksPlan(alert, planned.planId, seen)) {
      Object.assign(alert, { state: 'firing', level: alert.level + 1, clearRunKey: null });
      change = 'grown';
    }
    if (change !== null) {
      alert.revision += 1;
      alert.lastChangedAt = at;
      if (change === 'fired') alert.firstFiredAt ??= at;
      this.#drafts.push({ alert, change, seen, names, expected: false, planned: planned?.upToCredits ?? null });
    }
    if (!isDeepStrictEqual(known, alert)) this.#rows.write(alert, seen.detail);
  }

  /** Of what was told at a time to come nobody knows how long ago that was. */
  #wasTold({ alertKey }: StoredAlert, stage: Stage): boolean {
    const { connection, nowMs } = this.#context;
    const [since, latest] = [isoTime(nowMs - NEWS_EVERY_MS), latestKnown(nowMs)];
    return newsBetween(connection).get({ alertKey, stage, since, latest }) !== undefined;
  }

  /** While many wait, a pace gives an incident another day to form, and is then told all the same. */
  #mayBeIncident({ state, periodKey, pendingSinceMs }: StoredAlert, stage: Stage): boolean {
    if (state !== 'pending' || stage !== 'pace' || periodKey === null || pendingSinceMs === null) return false;
    if ((ageMs(pendingSinceMs, this.#context.nowMs) ?? 0) >= PACE_CONFIRM_MS + NEWS_EVERY_MS) return false;
    return this.#isCrowd(periodKey);
  }

  get #muted(): Mutes {
    const { connection, workspaceKey, nowMs } = this.#context;
    this.#mutes ??= readMutes(connection, workspaceKey, nowMs);
    return this.#mutes;
  }

  /** The plan for an alert that has grown beyond it. */
  #planned({ rule, current }: StoredAlert, { tenantId, period }: SubjectNames) {
    if (current === null) return null;
    return this.#muted.exceeded({ rule, tenantId, period, credits: current.credits });
  }

  /** Whether the plan has kept the alert quiet so far, and now no longer does. */
  #breaksPlan({ alertKey, state }: StoredAlert, planId: string, { judgement }: Observation): boolean {
    if (judgement.verdict !== 'holds' || state === 'pending') return false;
    return lastNews(this.#context.connection).get({ alertKey })?.silentBecause === `silence:${planId}`;
  }

  /** Ends an alert whose period nobody looks at any more. */
  expire(alert: StoredAlert): void {
    const { at } = this.#context;
    const expired: StoredAlert = { ...alert, state: 'expired', revision: alert.revision + 1, lastChangedAt: at };
    this.#rows.write(expired, null);
    const seen = observation({ ...expired, judgement: clear(true) });
    this.#drafts.push({
      alert: expired,
      change: 'expired',
      seen,
      names: this.#names(expired),
      expected: false,
      planned: null,
    });
  }

  /** Writes the transitions and, for what somebody must hear of, an outbox row for each channel that its route names. */
  finish(): RunAlerts {
    if (!this.#context.seeding) {
      gatherIncidents(this.#context, { rows: this.#rows, mutes: this.#muted, drafts: this.#drafts }, (seen) =>
        this.observe(seen),
      );
    }
    for (const incident of endedIncidents(this.#context, this.#rows)) {
      this.observe(observation({ ...incident, judgement: clear(true), ...NO_FIGURES }), incident);
    }
    const outcome: RunAlerts = { changes: [], notificationIds: [] };
    if (this.#drafts.length === 0) return outcome;
    const publish = createPublisher(this.#context, createSilencer(this.#context, this.#rows, this.#muted));
    for (const draft of this.#drafts) publish({ ...draft, expected: isExpected(draft, this.#rows) }, outcome);
    this.#drafts = [];
    return outcome;
  }

  #names({ tenantKey, periodKey }: { tenantKey: number | null; periodKey: number | null }): SubjectNames {
    return {
      workspaceId: this.#context.workspaceId,
      tenantId: tenantKey === null ? null : this.tenantId(tenantKey),
      period: periodKey === null ? null : periodOfKey(periodKey),
    };
  }
}

/** What was told of an alert before: at a stage since a moment, and why the last of it was kept quiet. */
const { alertKey, revision, change, stage, at, silentBecause } = alertTransitions;
const isNews = and(eq(alertKey, sql.placeholder('alertKey')), inArray(change, NEWS));
const newsBetween = prepared((db) => {
  const isRecent = and(gt(at, sql.placeholder('since')), lte(at, sql.placeholder('latest')));
  const isOfStage = and(eq(stage, sql.placeholder('stage')), isNull(outbox.digestAt));
  return db
    .select({ revision })
    .from(alertTransitions)
    .innerJoin(outbox, and(eq(outbox.alertKey, alertKey), eq(outbox.revision, revision)))
    .where(and(isNews, isOfStage, isRecent))
    .limit(1);
});
const lastNews = prepared((db) =>
  db.select({ silentBecause }).from(alertTransitions).where(isNews).orderBy(desc(revision)).limit(1),
);

/** Of one alert at one stage there is news at most so often. */
const NEWS_EVERY_MS = 86_400_000;
