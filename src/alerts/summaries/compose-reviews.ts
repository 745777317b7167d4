import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { canHaveHappened } from '../../core/stored-time.ts';
import { isAway } from '../../ledger/journal/moved-away.ts';
import { query } from '../../ledger/store/query.ts';
import { and, asc, count, eq, gte, lt, max, not } from '../../ledger/store/schema/drizzle.ts';
import { periodKeyOf } from '../../ledger/store/schema/keys.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { sumUsage } from '../../ledger/store/sum-usage.ts';
import { insertNotification } from '../tell/insert-notification.ts';
import { OPEN_ALERTS } from '../track/open-alerts.ts';
import { currentRoutes, fitsAny } from '../track/routes.ts';
import {
  anewAfter,
  type DueReview,
  dueReviews,
  type ReviewMoment,
  renderReview,
  type WorkspaceReview,
} from './review.ts';

type Connection = Database.Database;

/** The reviews that are due and have not been made; none of a time before the ledger's first complete run. */
export function missingReviews(connection: Connection, moment: ReviewMoment): DueReview[] {
  const due = currentRoutes(connection).flatMap((route) => dueReviews(route, moment));
  if (due.length === 0) return [];
  const made = (id: string) => query(connection).select().from(outbox).where(eq(outbox.notificationId, id)).get();
  // Of a workspace that was imported, the ledger that it came from has told.
  const first = connection
    .prepare(
      `SELECT min(at) FROM (
         SELECT min(finished_at) AS at FROM runs WHERE status = 'applied' AND applied_seq NOT IN (SELECT seq FROM moved_links)
         UNION ALL SELECT min(at) FROM workspace_moves WHERE action = 'import')`,
    )
    .pluck()
    .get();
  return due.flatMap((review) => {
    if (typeof first !== 'string' || Date.parse(first) >= review.dueMs) return [];
    const known = made(review.notificationId);
    if (known === undefined) return [review];
    if (canHaveHappened(Date.parse(known.createdAt), moment.nowMs)) return [];
    const anew = anewAfter(review, known.createdAt);
    return made(anew.notificationId) === undefined ? [anew] : [];
  });
}

/** Writes the reviews that are due to the outbox, each once, whoever comes first; returns their ids. */
export function composeReviews(connection: Connection, moment: ReviewMoment): string[] {
  const createdAt = isoTime(moment.nowMs);
  return connection
    .transaction(() => {
      return missingReviews(connection, moment).map((review) => {
        const { notificationId, channel } = review;
        const payload = renderReview(review, lookBack(connection, review), createdAt);
        insertNotification(connection, { notificationId, channel, payload, createdAt }).run();
        return notificationId;
      });
    })
    .immediate();
}

/** What each workspace has to say; of a month, what its alerts have come to since, and of a week, what happened in it. */
function lookBack(
  connection: Connection,
  { rules, workspaces: taken, fromMs, toMs, period }: DueReview,
): WorkspaceReview[] {
  const db = query(connection);
  const own = db
    .select()
    .from(workspaces)
    .where(not(isAway))
    .orderBy(asc(workspaces.workspaceId))
    .all()
    .filter(({ workspaceId }) => taken === undefined || fitsAny(taken, workspaceId));
  const about = period === null ? 'x.at >= @from AND x.at < @to' : 'a.period_key = @periodKey';
  const wanted = `a.workspace_key = @workspaceKey AND a.rule IN (SELECT value FROM json_each(@rules))`;
  const changes = connection.prepare(
    `SELECT count(DISTINCT CASE WHEN x.change = 'fired' AND x.silent = 0 THEN x.alert_key END) AS fired,
       count(DISTINCT CASE WHEN x.change = 'resolved' THEN x.alert_key END) AS resolved,
       count(DISTINCT CASE WHEN x.silent_because LIKE 'silence:%' OR x.silent_because LIKE 'incident:%' THEN x.alert_key END)
         AS muted
     FROM alert_transitions x JOIN alerts a USING (alert_key) WHERE ${wanted} AND ${about}`,
  );
  const open = connection
    .prepare(
      `SELECT count(*) FROM alerts a WHERE ${wanted} AND ${OPEN_ALERTS}
         AND (@periodKey IS NULL OR a.period_key = @periodKey)`,
    )
    .pluck();
  const total = (periodKey: number) => sumUsage(connection, periodKey).creditsUsed;
  const [from, to] = [isoTime(fromMs), isoTime(toMs)];
  return own.map(({ workspaceKey, workspaceId }) => {
    const periodKey = period === null ? null : periodKeyOf(workspaceKey, period);
    const isApplied = and(eq(runs.workspaceKey, workspaceKey), eq(runs.status, 'applied'));
    const complete = db
      .select({ count: count(), last: max(runs.finishedAt) })
      .from(runs)
      .where(and(isApplied, gte(runs.finishedAt, from), lt(runs.finishedAt, to)))
      .get();
    const values = { workspaceKey, rules: JSON.stringify(rules), periodKey };
    return {
      workspaceId,
      ...{ completeRuns: complete?.count ?? 0, lastCompleteRunAt: complete?.last ?? null },
      ...(changes.get({ ...values, from, to }) as Pick<WorkspaceReview, 'fired' | 'resolved' | 'muted'>),
      open: open.get(values) as number,
      credits: periodKey === null ? null : { previous: total(periodKey - 1), current: total(periodKey) },
    };
  });
}
