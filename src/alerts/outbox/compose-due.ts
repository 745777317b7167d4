import { isoTime } from '../../core/clock.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { deliveries } from '../../ledger/store/schema/delivery-tables.ts';
import { and, eq, isNotNull, lt, prepared, preparedSql, sql } from '../../ledger/store/schema/drizzle.ts';
import { dailySummaries } from '../messages/digest.ts';
import { groupMessages } from '../messages/group.ts';
import type { MadeMessage, Rendered } from '../messages/message-parts.ts';
import { renderPayload } from '../messages/notification.ts';
import { GROUPED_EVENTS, isOutlier } from '../pipeline/group.ts';
import { type ChannelRoute, findSummaryTimes, type NotifyOptions } from '../pipeline/route.ts';
import { stopsReading } from '../rules/rules.ts';
import { maxMessageBytes } from './channel-states.ts';
import { applyDeliveryEvent, writeDelivery } from './deliveries.ts';
import { toDueParameters } from './due.ts';
import { decideDueNotifications } from './evaluate-due.ts';
import type { DueNotification } from './notify-channels.ts';

/** Notifications with the same rule and month become one message if they are about at least this many tenants. */
const MIN_GROUP_TENANTS = 5;
/** The number of tenants from which notifications that waited for a group become one message. */
const MIN_GATHERED = 2;
/** The number of workspaces with the same fault from which their system alerts become one message. */
const MIN_WORKSPACES = 2;
/**
 * At most about this many messages are composed for a channel at a time, because each should be up to date when it is
 * sent. A group or digest that is split into parts is composed as a whole.
 */
const MAX_MESSAGES_A_CALL = 20;
/** A message that has waited longer than this for its first attempt is composed again. */
const OUTDATED_MS = 60_000;

interface Member extends Rendered {
  due: DueNotification;
  revision: number;
  payload: string;
}

/**
 * Decides again about every notification that is due, then stores the messages to send to each channel: single ones,
 * groups and digests. The stored bytes are sent unchanged. Returns the number of messages. A channel with messages that
 * await their first attempt gets no new ones.
 */
export function composeDueMessages(connection: LedgerDb, notifying: NotifyOptions): number {
  const { routes, nowMs } = notifying;
  return connection
    .transaction(() => {
      restartWaits(connection, nowMs);
      dropOutdated(connection, nowMs);
      const busy = new Set(busyChannels(connection).all() as string[]);
      const free = routes.filter(({ channel }) => !busy.has(channel));
      const due = decideDueNotifications(
        connection,
        notifying,
        free.map(({ channel }) => channel),
      );
      return free.reduce((made, route) => {
        const composer = new ChannelComposer(connection, route, nowMs);
        return made + composer.compose(due.filter(({ route: { channel } }) => channel === route.channel));
      }, 0);
    })
    .immediate();
}

/** Selects the channels with messages that await their first attempt. */
const busyChannels = preparedSql(
  "SELECT DISTINCT channel FROM deliveries WHERE due_at IS NOT NULL AND state = 'fresh'",
  'pluck',
);

const SECONDS_TO_WAIT = 'round((julianday(due_at) - julianday(scheduled_at)) * 86400, 3)';
const RESTARTED = `strftime('%Y-%m-%dT%H:%M:%fZ', @at, max(0, ${SECONDS_TO_WAIT}) || ' seconds')`;
const IS_AHEAD = 'due_at IS NOT NULL AND scheduled_at > @latest';
const restartDeliveries = preparedSql(
  `UPDATE deliveries SET due_at = ${RESTARTED}, scheduled_at = @at WHERE ${IS_AHEAD}`,
);
const restartNotifications = preparedSql(
  `UPDATE alert_notified SET due_at = iif(pending IS NULL, @at, ${RESTARTED}), scheduled_at = @at WHERE ${IS_AHEAD}`,
);

/**
 * Restarts waits that were scheduled while the clock ran ahead. Each begins now, with its original length. Where a
 * decision, and not a notification, was scheduled, it is made now.
 */
function restartWaits(connection: LedgerDb, nowMs: number): void {
  restartDeliveries(connection).run(toDueParameters(nowMs));
  restartNotifications(connection).run(toDueParameters(nowMs));
}

const outdatedDeliveries = prepared((db) => {
  const isFresh = and(isNotNull(deliveries.dueAt), eq(deliveries.state, 'fresh'));
  return db
    .select()
    .from(deliveries)
    .where(and(isFresh, lt(deliveries.createdAt, sql.placeholder('before'))));
});

function dropOutdated(connection: LedgerDb, nowMs: number): void {
  for (const delivery of outdatedDeliveries(connection).all({ before: isoTime(nowMs - OUTDATED_MS) })) {
    applyDeliveryEvent(connection, delivery, 'outdated', isoTime(nowMs));
  }
}

class ChannelComposer {
  readonly #connection: LedgerDb;
  readonly #route: ChannelRoute;
  readonly #nowMs: number;
  readonly #at: string;
  readonly #mostBytes: number;
  #made = 0;

  constructor(connection: LedgerDb, route: ChannelRoute, nowMs: number) {
    this.#connection = connection;
    this.#route = route;
    this.#nowMs = nowMs;
    this.#at = isoTime(nowMs);
    this.#mostBytes = maxMessageBytes(connection, route.channel);
  }

  /** Composes messages for the channel and returns their number. What exceeds MAX_MESSAGES_A_CALL stays due. */
  compose(due: readonly DueNotification[]): number {
    this.#digest(due.filter(({ pending }) => pending.batch === 'digest'));
    const others = due.filter(({ pending }) => pending.batch !== 'digest');
    for (const members of groupsOf(others)) {
      if (this.#made >= MAX_MESSAGES_A_CALL) break;
      const [first] = members;
      if (members.length === 1 && first !== undefined) this.#single(first);
      else this.#group(members);
    }
    return this.#made;
  }

  #single(due: DueNotification): void {
    const member = this.#render(due);
    const { notification, payload } = member;
    this.#write('single', { notificationId: notification.notification_id, payload, members: [member] });
  }

  #group(due: readonly DueNotification[]): void {
    const about = { route: this.#route, at: this.#at, mostBytes: this.#mostBytes };
    const members = due.map((one) => this.#render(one));
    const ofAll = due[0]?.countTenants() ?? { tenants: 0, likely: 0, reached: 0 };
    const messages = groupMessages(members, { ...about, ofAll });
    for (const message of messages) this.#write('group', message);
  }

  #digest(due: readonly DueNotification[]): void {
    if (due.length === 0) return;
    const messages = dailySummaries(
      due.map((one) => this.#render(one)),
      {
        channel: this.#route.channel,
        timezone: this.#route.timezone,
        // If several digest hours were missed, only the latest one counts.
        dueAt: isoTime(findSummaryTimes(this.#route, this.#nowMs).latestMs),
        at: this.#at,
        head: headOfChain(this.#connection),
        mostBytes: this.#mostBytes,
      },
    );
    for (const message of messages) this.#write('digest', message);
  }

  #render(due: DueNotification): Member {
    // The revision is based on the clock, so that it rises even in a ledger restored from a backup.
    const revision = Math.max(due.revision + 1, Math.floor(this.#nowMs / 1000));
    const notification = due.compose(revision);
    const payload = renderPayload(notification);
    return { due, revision, notification, payload, bytes: Buffer.byteLength(payload) };
  }

  #write(form: 'single' | 'group' | 'digest', { notificationId, payload, members }: MadeMessage<Member>): void {
    const { channel } = this.#route;
    const failures = Math.max(...members.map(({ due }) => due.pending.failures));
    const delivery = { notificationId, channel, form, payload, failures, at: this.#at };
    const about = members.map(({ due: { alert, event, notifiedCount }, revision }) => ({
      alert,
      event,
      notifiedCount,
      revision,
    }));
    writeDelivery(this.#connection, delivery, about);
    this.#made += 1;
  }
}

/**
 * Divides the due notifications of one channel into those that become one message each. A group has the same rule and
 * event for many tenants, or the same fault in several workspaces. Notifications that waited for a group join it
 * whatever their event. Outliers are separate. Each alert of a group counts as notified.
 */
function groupsOf(due: readonly DueNotification[]): DueNotification[][] {
  const gathered = new Set(due.filter(isGathered).map(causeKeyOf));
  const joins = (one: DueNotification): boolean =>
    gathered.has(causeKeyOf(one)) && (isGathered(one) || GROUPED_EVENTS.includes(one.event));
  const alike = Map.groupBy(due, (one) => JSON.stringify([causeKeyOf(one), joins(one) || wordOf(one)]));
  return [...alike.values()].flatMap((members) => {
    const [first] = members;
    if (first === undefined || !isMany(members, joins(first) ? MIN_GATHERED : MIN_GROUP_TENANTS)) return alone(members);
    const outOfLine = members.filter(({ alert, event }) => isOutlier(alert, event));
    const others = members.filter((one) => !outOfLine.includes(one));
    if (outOfLine.length === 0 || others.length === 0) return [members];
    return [...(outOfLine.length < MIN_GROUP_TENANTS ? alone(outOfLine) : [outOfLine]), others];
  });
}

function alone(members: readonly DueNotification[]): DueNotification[][] {
  return members.map((one) => [one]);
}

/** Returns a key that notifications with a common cause share. */
function causeKeyOf({ alert: { rule, cause, periodKey }, workspaceKey }: DueNotification): string {
  return JSON.stringify(stopsReading(rule) ? [rule, cause] : [rule, workspaceKey, periodKey]);
}

function wordOf({ event }: DueNotification): string {
  return event === 'again' ? 'opened' : event;
}

function isGathered({ alert, pending }: DueNotification): boolean {
  return !stopsReading(alert.rule) && pending.batch === 'group';
}

function isMany(members: readonly DueNotification[], leastTenants: number): boolean {
  const [first] = members;
  if (first === undefined) return false;
  if (stopsReading(first.alert.rule)) return new Set(members.map((each) => each.workspaceKey)).size >= MIN_WORKSPACES;
  return new Set(members.flatMap(({ alert }) => alert.tenantKey ?? [])).size >= leastTenants;
}
