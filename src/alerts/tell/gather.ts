import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import type { ToldEvent } from '../../core/text/alert-words.ts';
import { prepared } from '../../ledger/store/query.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { aliasedTable, and, eq, gt, inArray, isNull, lte, ne, or, sql } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { isOfReading } from '../rules/table.ts';
import type { StoredAlert } from '../track/alert-rows.ts';

/** What one service breaks is found workspace by workspace: whoever was told of the first hears of the others together. */
const HOST_MS = 10 * 60_000;
/**
 * What moves many tenants goes on for days: whoever was told of a group, or of so many one by one, hears of the others together
 * a day later.
 */
const GROUP_MS = 24 * 60 * 60_000;
const MANY = 5;
/** What has come so far beyond its limit at once is no part of what moves the others. */
const OUT_OF_LINE = 3n;
/** Beginnings and what became of them; ends and reminders go by themselves. */
export const GATHERED: readonly ToldEvent[] = ['opened', 'again', 'worse', 'eased', 'grown'];

interface Found {
  waitsUntil: string | null;
  toldAt: string | null;
}

const { placeholder } = sql;
const carrier = aliasedTable(outbox, 'carrier');
const nextAttemptAt = sql`coalesce(${carrier.nextAttemptAt}, ${outbox.nextAttemptAt})`;
const deliveredAt = sql`coalesce(${carrier.deliveredAt}, ${outbox.deliveredAt})`;
/** When somebody has had it, or may have. */
const toldAt = sql`iif(${outbox.unknownAttempts} > 0, ${outbox.createdAt}, ${deliveredAt})`;

const isRecent = and(gt(toldAt, placeholder('since')), lte(toldAt, placeholder('at')));
const untilLater = and(gt(nextAttemptAt, placeholder('at')), lte(nextAttemptAt, placeholder('latest')));

const toldElsewhere = prepared((db) => {
  const isKin = and(eq(alerts.rule, placeholder('rule')), sql`${alerts.cause} IS ${placeholder('cause')}`);
  const isOther = and(isKin, ne(alerts.workspaceKey, placeholder('workspaceKey')));
  const isSame = sql`iif(${outbox.event} = 'again', 'opened', ${outbox.event}) = ${placeholder('event')}`;
  const waits = and(eq(outbox.attempts, 0), untilLater);
  return db
    .select({
      waitsUntil: sql<string | null>`max(iif(${waits}, ${nextAttemptAt}, NULL))`,
      toldAt: sql<string | null>`max(iif(${isRecent}, ${toldAt}, NULL))`,
    })
    .from(outbox)
    .innerJoin(alerts, eq(alerts.alertKey, outbox.alertKey))
    .leftJoin(carrier, eq(carrier.notificationId, outbox.digestId))
    .where(and(eq(outbox.channel, placeholder('channel')), isOther, isSame, or(waits, isRecent)));
});

const toldAsGroup = prepared((db) => {
  const isKin = and(
    eq(alerts.rule, placeholder('rule')),
    eq(alerts.workspaceKey, placeholder('workspaceKey')),
    eq(alerts.periodKey, placeholder('periodKey')),
  );
  const isBeginning = and(inArray(outbox.event, GATHERED), isNull(outbox.digestAt));
  const waits = and(eq(sql`coalesce(${carrier.attempts}, ${outbox.attempts})`, 0), untilLater);
  const message = sql`coalesce(${carrier.notificationId}, ${outbox.notificationId})`;
  const groups = sql`count(iif(${isRecent}, ${carrier.notificationId}, NULL))`;
  const isMany = sql`(${groups} > 0 OR count(DISTINCT iif(${isRecent}, ${message}, NULL)) >= ${MANY})`;
  return db
    .select({
      waitsUntil: sql<string | null>`max(iif(${waits}, ${nextAttemptAt}, NULL))`,
      toldAt: sql<string | null>`iif(${isMany}, max(iif(${isRecent}, ${toldAt}, NULL)), NULL)`,
    })
    .from(outbox)
    .innerJoin(alerts, eq(alerts.alertKey, outbox.alertKey))
    .leftJoin(carrier, eq(carrier.notificationId, outbox.digestId))
    .where(and(eq(outbox.channel, placeholder('channel')), isKin, isBeginning, or(waits, isRecent)));
});

/**
 * Until when words wait for others of their kind, so that one message has them all; null: they go at once. Asked anew by each
 * who tells. Times that a clock which was ahead has written down count for nothing.
 */
export class Gathering {
  readonly #connection: Database.Database;
  readonly #workspaceKey: number | null;
  readonly #nowMs: number;
  readonly #ofGroups = new Map<string, string | null>();

  constructor(connection: Database.Database, { workspaceKey, nowMs }: { workspaceKey: number | null; nowMs: number }) {
    this.#connection = connection;
    this.#workspaceKey = workspaceKey;
    this.#nowMs = nowMs;
  }

  until(alert: StoredAlert, channel: string, event: ToldEvent): string | null {
    const { rule, cause, periodKey, tenantKey } = alert;
    if (isOfReading(rule)) {
      const word = { rule, cause, channel, event: event === 'again' ? 'opened' : event };
      return this.#ask(toldElsewhere(this.#connection), word, HOST_MS);
    }
    if (periodKey === null || tenantKey === null || !GATHERED.includes(event) || isOutOfLine(alert, event)) return null;
    const kind = JSON.stringify([rule, periodKey, channel]);
    const known = this.#ofGroups.get(kind);
    if (known !== undefined) return known;
    const found = this.#ask(toldAsGroup(this.#connection), { rule, periodKey, channel }, GROUP_MS);
    this.#ofGroups.set(kind, found);
    return found;
  }

  #ask(statement: ReturnType<typeof toldElsewhere>, word: Record<string, unknown>, withinMs: number): string | null {
    const nowMs = this.#nowMs;
    const found = statement.get({
      ...word,
      workspaceKey: this.#workspaceKey,
      at: isoTime(nowMs),
      since: isoTime(nowMs - withinMs),
      latest: isoTime(nowMs + withinMs),
    }) as Found | undefined;
    if (typeof found?.waitsUntil === 'string') return found.waitsUntil;
    return typeof found?.toldAt !== 'string' ? null : isoTime(Date.parse(found.toldAt) + withinMs);
  }
}

/** Whether it does not wait for the others of its rule. */
export function isOutOfLine({ current, threshold, level }: StoredAlert, event: ToldEvent): boolean {
  if (event === 'grown' || level === 'likely' || current === null || threshold === null) return false;
  return current.credits >= threshold * OUT_OF_LINE;
}
