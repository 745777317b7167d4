import { isoTime } from '../../../core/clock.ts';
import { type Period, periodEndMs } from '../../../core/period.ts';
import { canHaveHappened } from '../../../core/stored-time.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { and, asc, count, eq, gte, inArray, lte, max, query } from '../../store/schema/drizzle.ts';
import { absences, runs, usageEntries } from '../../store/schema/run-tables.ts';
import { findPeriod } from '../../store/subjects.ts';

/** Two complete walks that agree must lie this far apart to prove that a period has stopped moving. */
export const AGREEMENT_HOURS = 12;
const HOUR_MS = 3_600_000;

/** Everything that speaks against closing this period now, each a sentence with its remedy; empty when nothing does. */
export function closeObstacles(
  connection: LedgerConnection,
  subject: { workspaceKey: number; periodKey: number; period: Period; settleHours: number; nowMs: number },
): string[] {
  const { workspaceKey, periodKey, period, settleHours, nowMs } = subject;
  const endMs = periodEndMs(period);
  if (nowMs < endMs) return [`it is not over: it ends at ${isoTime(endMs)}`];
  const obstacles: string[] = [];
  const settledMs = endMs + settleHours * HOUR_MS;
  if (nowMs < settledMs) obstacles.push(`it settles for ${settleHours} h, until ${isoTime(settledMs)}`);

  const db = query(connection);
  const isCovering = and(lte(runs.fromPeriod, period), gte(runs.toPeriod, period), gte(runs.startedAt, isoTime(endMs)));
  const covering = db
    .select()
    .from(runs)
    .where(and(eq(runs.workspaceKey, workspaceKey), eq(runs.status, 'applied'), isCovering))
    .orderBy(asc(runs.appliedSeq))
    .all();
  const lastEntry = db.select({ entryId: max(usageEntries.entryId) }).from(usageEntries);
  const isLast = inArray(usageEntries.entryId, lastEntry.where(eq(usageEntries.periodKey, periodKey)));
  // A walk that missed a record did not agree with the one that showed it again, although no entry says so.
  const changedBy = [
    db.select().from(usageEntries).where(isLast).get()?.runKey ?? 0,
    findPeriod(connection, periodKey)?.unsteadyRunKey ?? 0,
  ];
  const changes = db
    .select({ lastSeq: max(runs.appliedSeq) })
    .from(runs)
    .where(inArray(runs.runKey, changedBy));
  const lastChange = changes.get()?.lastSeq ?? 0;
  const isKnown = (run: { startedAt: string }) => canHaveHappened(Date.parse(run.startedAt), nowMs);
  const agreeing = covering.filter((run) => (run.appliedSeq ?? 0) >= lastChange && isKnown(run));
  const [first] = agreeing;
  const last = agreeing.at(-1);
  // No walk ended later than one after it: its clock was ahead.
  const firstEndMs = agreeing.reduce((endMs, run) => Math.min(endMs, endOf(run)), Number.POSITIVE_INFINITY);
  if (first === undefined || last === undefined) {
    obstacles.push('no complete walk has been made since it ended; sync first');
  } else if (Date.parse(last.startedAt) - firstEndMs < AGREEMENT_HOURS * HOUR_MS) {
    const earliest = isoTime(firstEndMs + AGREEMENT_HOURS * HOUR_MS);
    obstacles.push(
      `two complete walks ${AGREEMENT_HOURS} h apart must agree: it has stood unchanged since ${first.runId}, ` +
        `a walk after ${earliest} would be the second`,
    );
  }
  const missing = db.select({ count: count() }).from(absences).where(eq(absences.periodKey, periodKey)).get();
  const absent = missing?.count ?? 0;
  if (absent > 0) obstacles.push(`${absent} of its records are missing from the latest walk and not yet withdrawn`);
  return obstacles;
}

function endOf({ finishedAt }: typeof runs.$inferSelect): number {
  return Date.parse(finishedAt ?? '');
}
