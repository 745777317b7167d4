import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import type { ToldEvent } from '../../core/text/alert-words.ts';
import { prepared } from '../../ledger/store/query.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { aliasedTable, and, eq, gt, lte, ne, or, sql } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import type { StoredAlert } from '../book/alert-rows.ts';
import { isShared } from '../rules/table.ts';

/** What one host breaks is found workspace by workspace: whoever was told of the first hears of the others together. */
const GATHER_MS = 10 * 60_000;

const carrier = aliasedTable(outbox, 'carrier');
const nextAttemptAt = sql`coalesce(${carrier.nextAttemptAt}, ${outbox.nextAttemptAt})`;
const deliveredAt = sql`coalesce(${carrier.deliveredAt}, ${outbox.deliveredAt})`;
/** When somebody has had it, or may have. */
const toldAt = sql`iif(${outbox.unknownAttempts} > 0, ${outbox.createdAt}, ${deliveredAt})`;

const toldElsewhere = prepared((db) => {
  const { placeholder } = sql;
  const isOther = and(eq(alerts.rule, placeholder('rule')), ne(alerts.workspaceKey, placeholder('workspaceKey')));
  const isSame = sql`iif(${outbox.event} = 'again', 'opened', ${outbox.event}) = ${placeholder('event')}`;
  const untilLater = and(gt(nextAttemptAt, placeholder('at')), lte(nextAttemptAt, placeholder('latest')));
  const waits = and(eq(outbox.attempts, 0), untilLater);
  const isRecent = and(gt(toldAt, placeholder('since')), lte(toldAt, placeholder('at')));
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

/**
 * Until when a word of a fault that workspaces share waits for those of the others; null: it goes at once. Times that a clock
 * which was ahead has written down count for nothing.
 */
export function gatherUntil(
  connection: Database.Database,
  { rule, workspaceKey }: Pick<StoredAlert, 'rule'> & { workspaceKey: number },
  { channel, event, nowMs }: { channel: string; event: ToldEvent; nowMs: number },
): string | null {
  if (!isShared(rule)) return null;
  const found = toldElsewhere(connection).get({
    ...{ rule, workspaceKey, channel, event: event === 'again' ? 'opened' : event },
    ...{ at: isoTime(nowMs), since: isoTime(nowMs - GATHER_MS), latest: isoTime(nowMs + GATHER_MS) },
  }) as { waitsUntil: string | null; toldAt: string | null } | undefined;
  if (typeof found?.waitsUntil === 'string') return found.waitsUntil;
  return typeof found?.toldAt !== 'string' ? null : isoTime(Date.parse(found.toldAt) + GATHER_MS);
}
