import { isoTime } from '../../core/clock.ts';
import type { ToldEvent } from '../../core/text/alert-words.ts';
import { prepared, query } from '../../ledger/store/query.ts';
import { alerts, alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, eq, gt, inArray, lte, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { renderEvidence } from '../notify/evidence.ts';
import { isSelfRule, usageRule } from '../rules/table.ts';
import type { BookContext } from '../track/alert-change.ts';
import { countTenants } from '../track/alert-crowds.ts';
import type { StoredAlert } from '../track/alert-rows.ts';
import type { Explainer } from '../track/explained.ts';
import type { Mutes } from '../track/mutes.ts';
import { type ChannelRoute, currentRoutes, takes } from '../track/routes.ts';
import type { Evidence } from '../wording/notification.ts';
import { failuresTakenOver } from './backoff.ts';
import { Composer } from './compose.ts';
import { Gathering, isOutOfLine } from './gather.ts';
import { groupWaiting } from './group.ts';
import { insertWord } from './insert-notification.ts';
import { alertsUnsent, dropMessage, lastRevision, latestMessages, type Message, refreshMessage } from './messages.ts';
import { type AlertNow, type News, news, type Policy } from './news.ts';
import { digestAtOf } from './route-hours.ts';
import { readTold, type ToldRow } from './told.ts';

/** What was made of the question what there is to tell of an alert. */
export interface Telling {
  /** What somebody is told that nobody waited for before. */
  news: ToldEvent[];
  /** How often somebody was told again because it grew, at most. */
  toldTimes: number;
  /** Why nobody is told; null when somebody is, or something is on its way. */
  because: string | null;
  evidence: string | null;
}

interface Sources {
  mutes: Mutes;
  explains: Explainer;
  tenantId(tenantKey: number): string;
}

const changesOf = prepared((db) => {
  const { alertKey, change, at, revision } = alertTransitions;
  const isOwn = and(eq(alertKey, sql.placeholder('alertKey')), inArray(change, ['fired', 'resolved']));
  return db.select({ change, at }).from(alertTransitions).where(isOwn).orderBy(asc(revision));
});

const setMoment = prepared((db) =>
  db
    .update(alerts)
    .set({ askAt: sql`${sql.placeholder('askAt')}`, askedAt: sql`${sql.placeholder('askedAt')}` })
    .where(eq(alerts.alertKey, sql.placeholder('alertKey'))),
);

/** The order in which messages were written. */
const rowid = sql<number>`${outbox}.rowid`.mapWith(Number);

/** Asks for alerts of a workspace what each receiver is to hear of them, and writes it down to be sent. */
export class Teller {
  readonly #context: BookContext;
  readonly #routes: readonly ChannelRoute[];
  readonly #sources: Sources;
  readonly #composer: Composer;
  readonly #gathering: Gathering;
  readonly #touched = new Set<string>();
  readonly #lastRow: number;
  /** Of all others nobody waits for a message. */
  readonly #unsent: ReadonlySet<number>;

  constructor(context: BookContext, sources: Sources) {
    this.#context = context;
    this.#routes = currentRoutes(context.connection);
    this.#sources = sources;
    this.#composer = new Composer(context);
    this.#gathering = new Gathering(context.connection, context);
    this.#unsent = alertsUnsent(context.connection)();
    const last = query(context.connection)
      .select({ row: sql<number>`coalesce(max(${rowid}), 0)`.mapWith(Number) })
      .from(outbox)
      .get();
    this.#lastRow = last?.row ?? 0;
  }

  tell(alert: StoredAlert): Telling {
    const { connection, nowMs, workspaceId } = this.#context;
    const told = readTold(connection, alert.alertKey);
    const messages = this.#unsent.has(alert.alertKey) ? latestMessages(connection, alert.alertKey) : null;
    const about = this.#about(alert);
    const now = this.#now(alert);
    const telling: Telling = { news: [], toldTimes: 0, because: 'unrouted', evidence: null };
    const silent: string[] = [];
    const moments: number[] = [];
    for (const route of this.#routes) {
      const message = messages?.get(route.channel) ?? null;
      const waits = message?.waits === true;
      if (waits && message.isFixed) {
        telling.because = null;
        continue;
      }
      const before = told(route.channel);
      const remindAfterMs = alert.severity === 'critical' ? (route.remindAfterMs ?? null) : null;
      const policy = {
        ...about.policy,
        explainedBy: this.#sources.explains(alert, (other) => this.#isTold(other, route)),
        routed: takes(route, { ...alert, workspaceId, tenantId: about.tenantId }),
        remindAfterMs,
      };
      const verdict = news(now, before, policy, nowMs);
      if (verdict.say === null) {
        if (waits) this.#drop(message);
        silent.push(verdict.because);
        if (verdict.askAtMs !== null) moments.push(verdict.askAtMs);
        continue;
      }
      const isSame = message !== null && saysSame(message, alert, verdict);
      // What was given up waits for somebody to replay it, unless there is something else to say.
      if (isSame && message.state === 'dead') {
        silent.push('given_up');
        continue;
      }
      telling.because = null;
      const sending = { route, alert, told: before, message, verdict };
      if (isSame && waits) {
        if (this.#leavesGroup(sending, message)) this.#send(sending, about);
        else if (message.measure !== alert.measure) this.#refresh(sending, message, about);
        continue;
      }
      this.#send(sending, about);
      if (remindAfterMs !== null) moments.push(nowMs + remindAfterMs);
      telling.news.push(verdict.say);
      telling.toldTimes = Math.max(telling.toldTimes, verdict.toldTimes);
    }
    this.#dropForeign(messages);
    this.#setMoment(alert, moments);
    if (telling.because !== null) telling.because = silent.find((why) => why !== 'unrouted') ?? telling.because;
    return { ...telling, evidence: telling.news.length === 0 ? null : renderEvidence(about.evidence()) };
  }

  /** Nobody here can send what waits for other channels. A process that has such a channel asks anew what to tell it. */
  #dropForeign(messages: ReadonlyMap<string, Message> | null): void {
    for (const [channel, message] of messages ?? []) {
      const isOwn = this.#routes.some((route) => route.channel === channel);
      if (message.waits && !message.isFixed && !isOwn) this.#drop(message);
    }
  }

  /** Makes groups of what was written; returns what is to go now. */
  finish(): string[] {
    const { connection, at } = this.#context;
    for (const channel of this.#touched) {
      groupWaiting(connection, channel, { at, countTenants: (periodKey) => countTenants(this.#context, periodKey) });
    }
    const isPending = eq(outbox.state, 'pending').inlineParams();
    const isNew = and(gt(rowid, this.#lastRow), inArray(outbox.channel, [...this.#touched]));
    return query(connection)
      .select({ notificationId: outbox.notificationId })
      .from(outbox)
      .where(and(isPending, isNew, lte(outbox.nextAttemptAt, at)))
      .orderBy(asc(rowid))
      .all()
      .map(({ notificationId }) => notificationId);
  }

  /** Whether a channel is told of what explains another alert. */
  #isTold(alert: StoredAlert, route: ChannelRoute): boolean {
    const { tenantId, policy } = this.#about(alert);
    const isMuted = !isSelfRule(alert.rule) && policy.mute !== null;
    return !isMuted && takes(route, { ...alert, workspaceId: this.#context.workspaceId, tenantId });
  }

  #now(alert: StoredAlert): AlertNow {
    const { episode, level, measure, state, rule, alertKey } = alert;
    const isOwn = isSelfRule(rule);
    const changes = isOwn ? changesOf(this.#context.connection).all({ alertKey }) : [];
    const begins = changes.filter(({ change }) => change === 'fired').map(({ at }) => Date.parse(at));
    return {
      ...{ episode, level, measure, isSet: usageRule(rule)?.isSet === true },
      holding: state === 'firing' || state === 'acknowledged',
      acknowledged: state === 'acknowledged',
      wanes: alert.clearRunKey !== null,
      own: isOwn ? { begins, changedMs: Date.parse(changes.at(-1)?.at ?? alert.lastChangedAt) } : null,
    };
  }

  #about(alert: StoredAlert): About {
    const { mutes, tenantId: idOf } = this.#sources;
    const { rule, cause, periodKey, tenantKey, current } = alert;
    const tenantId = tenantKey === null ? null : idOf(tenantKey);
    const period = periodKey === null ? null : periodOfKey(periodKey);
    const subject = { rule, cause, tenantId, period, credits: current?.credits ?? null };
    const passed = mutes.passed(subject);
    const composer = this.#composer;
    let evidence: Evidence | null = null;
    return {
      tenantId,
      policy: { mute: mutes.by(subject), passed },
      evidence() {
        evidence ??= composer.evidence(alert, { tenantId, planned: passed });
        return evidence;
      },
    };
  }

  /** It waits for a group, and is no part of that any more. */
  #leavesGroup({ alert, verdict }: Sending, { digestAt, schedule }: Message): boolean {
    const waitsForOthers = digestAt === null && schedule.attempts === 0 && schedule.nextAttemptAt > this.#context.at;
    return waitsForOthers && isOutOfLine(alert, verdict.say);
  }

  /** The figures of a message that waits, as they are now. */
  #refresh({ route, alert, verdict }: Sending, message: Message, about: About): void {
    const word = { route, event: verdict.say, revision: message.revision, toldTimes: verdict.toldTimes };
    const { payload } = this.#composer.message(alert, { ...about, evidence: about.evidence() }, word);
    refreshMessage(this.#context.connection, message, { payload, measure: alert.measure });
    this.#touched.add(route.channel);
  }

  #send({ route, alert, told, message, verdict }: Sending, about: About): void {
    const { connection, at, nowMs } = this.#context;
    const { channel } = route;
    const last = Math.max(told?.revision ?? 0, lastRevision(connection, alert.alertKey, channel));
    // By the clock, so that it rises even in a ledger that was restored from a copy.
    const revision = Math.max(last + 1, Math.floor(nowMs / 1000));
    const digestAt = digestAtOf(route, alert, { event: verdict.say, told }, nowMs);
    const word = { route, event: verdict.say, revision, toldTimes: verdict.toldTimes };
    const composed = this.#composer.message(alert, { ...about, evidence: about.evidence() }, word);
    if (message !== null && (message.waits || message.state === 'dead')) this.#drop(message);
    const gathered = this.#gathering.until(alert, channel, verdict.say);
    const isRetry = message?.waits === true && message.schedule.attempts > 0;
    const known = isRetry && digestAt === null && message.digestAt === null ? message.schedule : null;
    insertWord(connection, {
      ...{ ...composed, alertKey: alert.alertKey, revision, channel, event: verdict.say, digestAt, createdAt: at },
      ...{ episode: alert.episode, level: alert.level, toldTimes: verdict.toldTimes, measure: alert.measure },
      state: digestAt === null ? 'pending' : 'held',
      nextAttemptAt: digestAt ?? known?.nextAttemptAt ?? gathered ?? at,
      ...{ attempts: known === null ? 0 : failuresTakenOver(known), attemptsBefore: 0 },
      claimedUntil: known?.claimedUntil ?? null,
    });
    this.#touched.add(channel);
  }

  #drop(message: Message): void {
    dropMessage(this.#context.connection, message);
    this.#touched.add(message.channel);
  }

  #setMoment({ alertKey, askAt: before }: StoredAlert, moments: readonly number[]): void {
    const askAt = moments.length === 0 ? null : isoTime(Math.min(...moments));
    if (askAt !== before) setMoment(this.#context.connection).run({ alertKey, askAt, askedAt: this.#context.at });
  }
}

/** What there is to know of an alert, whoever is told. */
interface About {
  tenantId: string | null;
  policy: Pick<Policy, 'mute' | 'passed'>;
  /** Worked out when somebody asks first. */
  evidence(): Evidence;
}

interface Sending {
  route: ChannelRoute;
  alert: StoredAlert;
  told: ToldRow | null;
  message: Message | null;
  verdict: Extract<News, { toldTimes: number }>;
}

function saysSame(message: Message, alert: StoredAlert, { say, toldTimes }: Sending['verdict']): boolean {
  const { event, episode, level } = message;
  return event === say && episode === alert.episode && level === alert.level && message.toldTimes === toldTimes;
}
