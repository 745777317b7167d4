import type { ToldEvent } from '../../core/text/alert-words.ts';
import { alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, eq, inArray, prepared, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { MessageComposer } from '../messages/compose.ts';
import { renderEvidence } from '../messages/evidence.ts';
import type { Evidence, Notification } from '../messages/facts/facts.ts';
import type { BookContext } from '../pipeline/book-context.ts';
import { countOfAll, type OfAll } from '../pipeline/bulk-pending.ts';
import { type AlertNow, news, type Policy } from '../pipeline/decide.ts';
import { GroupWait, isOutOfLine } from '../pipeline/group.ts';
import type { Explainer } from '../pipeline/inhibit.ts';
import { type ChannelRoute, takes } from '../pipeline/route.ts';
import { digestAtOf, nextWait, type Wait } from '../pipeline/schedule.ts';
import type { Mutes } from '../pipeline/silence.ts';
import { isSystemRule, usageKind } from '../rules/rules.ts';
import type { StoredAlert } from '../state/alert-store.ts';
import { type Standings, writeWait } from './pending.ts';

export interface Planned {
  /** What somebody is owed that nobody was owed before. */
  news: ToldEvent[];
  /** How often somebody was told again because it grew, at most. */
  notifiedCount: number;
  /** Why nobody is told; null when somebody is, or something is on its way. */
  because: string | null;
  evidence: string | null;
}

/** What a channel is owed of an alert now. */
export interface DueMessage {
  alert: StoredAlert;
  route: ChannelRoute;
  event: ToldEvent;
  notifiedCount: number;
  wait: Wait;
  revision: number;
  workspaceKey: number | null;
  compose(revision: number): Notification;
  /** Of how many tenants the same is so in the month of the alert. */
  countOfAll(): OfAll;
}

interface Sources {
  standings: Standings;
  mutes: Mutes;
  explains: Explainer;
  tenantId(tenantKey: number): string;
}

const changesOf = prepared((db) => {
  const { alertKey, change, at, revision } = alertTransitions;
  const isOwn = and(eq(alertKey, sql.placeholder('alertKey')), inArray(change, ['fired', 'resolved']));
  return db.select({ change, at }).from(alertTransitions).where(isOwn).orderBy(asc(revision));
});

/** Asks for alerts of a workspace what each channel is to hear of them, and writes down what it is owed and when. */
export class Notifier {
  readonly #context: BookContext;
  readonly #routes: readonly ChannelRoute[];
  readonly #sources: Sources;
  readonly #composer: MessageComposer;
  readonly #groups: GroupWait;
  readonly due: DueMessage[] = [];
  /** How much of it was not owed before. */
  fresh = 0;

  constructor(context: BookContext, sources: Sources) {
    this.#context = context;
    this.#routes = context.routes;
    this.#sources = sources;
    this.#composer = new MessageComposer(context);
    this.#groups = new GroupWait(context.connection, context);
  }

  plan(alert: StoredAlert): Planned {
    const { connection, nowMs, at } = this.#context;
    const about = this.#about(alert);
    const now = this.#now(alert);
    const planned: Planned = { news: [], notifiedCount: 0, because: 'unrouted', evidence: null };
    const silent: string[] = [];
    for (const route of this.#routes) {
      const { channel } = route;
      const { notified, wait: before, revision, deliveryKey } = this.#sources.standings.of(alert.alertKey, channel);
      if (deliveryKey !== null) {
        planned.because = null;
        continue;
      }
      const verdict = news(now, notified, this.#policyOf(alert, route, about), nowMs);
      const { event } = verdict;
      const wait = nextWait(before, verdict, {
        alert,
        nowMs,
        isOutOfLine: event !== null && isOutOfLine(alert, event),
        digestAt: event === null ? null : digestAtOf(route, alert, { event, notified }, nowMs),
        groupAt: () => (event === null ? null : this.#groups.until(alert, channel, event)),
      });
      writeWait(connection, { alertKey: alert.alertKey, channel }, before, wait);
      if (event === null) {
        silent.push(verdict.because);
      } else if (wait.givenUp === 1) {
        // It waits for somebody to replay it, unless there is something else to say.
        silent.push('given_up');
      } else {
        const { notifiedCount } = verdict;
        planned.because = null;
        if (wait.owed !== before.owed) {
          planned.news.push(event);
          planned.notifiedCount = Math.max(planned.notifiedCount, notifiedCount);
        }
        if (wait.dueAt !== null && wait.dueAt <= at) {
          this.due.push(this.#dueMessage({ alert, route, event, notifiedCount, wait, revision }, about));
          if (wait.owed !== before.owed) this.fresh += 1;
        }
      }
    }
    if (planned.because !== null) planned.because = silent.find((why) => why !== 'unrouted') ?? planned.because;
    return { ...planned, evidence: planned.news.length === 0 ? null : renderEvidence(about.evidence()) };
  }

  #dueMessage(
    message: Pick<DueMessage, 'alert' | 'route' | 'event' | 'notifiedCount' | 'wait' | 'revision'>,
    about: About,
  ): DueMessage {
    const { alert, route, event, notifiedCount } = message;
    return {
      ...message,
      workspaceKey: this.#context.workspaceKey,
      compose: (revision) => {
        const subject = { tenantId: about.tenantId, evidence: about.evidence() };
        return this.#composer.message(alert, subject, { route, event, revision, notifiedCount });
      },
      countOfAll: () => {
        const { rule, periodKey } = alert;
        return periodKey === null
          ? { tenants: 0, likely: 0, reached: 0 }
          : countOfAll(this.#context, { rule, periodKey });
      },
    };
  }

  #policyOf(alert: StoredAlert, route: ChannelRoute, { tenantId, mute, passed }: About): Policy {
    return {
      mute,
      passed,
      explainedBy: this.#sources.explains(alert, (other) => this.#isTold(other, route)),
      routed: takes(route, { ...alert, workspaceId: this.#context.workspaceId, tenantId }),
      // Of a month that has settled there is nothing left to do.
      remindAfterMs: alert.severity === 'critical' && alert.level !== 'settled' ? (route.remindAfterMs ?? null) : null,
    };
  }

  /**
   * Whether a channel is told of what explains another alert, or was before somebody muted that. What was there before anybody
   * could be told explains nothing.
   */
  #isTold(alert: StoredAlert, route: ChannelRoute): boolean {
    const { tenantId, mute } = this.#about(alert);
    if (!isSystemRule(alert.rule)) {
      const { notified } = this.#sources.standings.of(alert.alertKey, route.channel);
      if (notified?.event === 'baseline' || (mute !== null && notified?.open !== true)) return false;
    }
    return takes(route, { ...alert, workspaceId: this.#context.workspaceId, tenantId });
  }

  #now(alert: StoredAlert): AlertNow {
    const { episode, level, measure, state, rule, alertKey } = alert;
    const isOwn = isSystemRule(rule);
    const changes = isOwn ? changesOf(this.#context.connection).all({ alertKey }) : [];
    const begins = changes.filter(({ change }) => change === 'fired').map(({ at }) => Date.parse(at));
    return {
      episode,
      level,
      measure,
      isSet: usageKind(rule)?.growth?.by === 'facts',
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
      passed,
      mute: mutes.by(subject),
      evidence() {
        evidence ??= composer.evidence(alert, { tenantId, planned: passed });
        return evidence;
      },
    };
  }
}

interface About extends Pick<Policy, 'mute' | 'passed'> {
  tenantId: string | null;
  evidence(): Evidence;
}
