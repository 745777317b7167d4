import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { onceEach } from '../../core/one-at-a-time.ts';
import { addPeriods, periodEndMs, periodStartMs } from '../../core/period.ts';
import { figuresReader } from '../../ledger/store/key-figures.ts';
import { and, eq, gte, lt, query, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey, workspaceKeyOf } from '../../ledger/store/schema/keys.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { TOLERANCE_MS } from '../history/run-moments.ts';
import type { PeriodPhase } from '../measures/judgement.ts';
import type { Course } from '../wording/notification.ts';
import { buildCourse, type PeriodReadings } from './course.ts';

export interface CourseSubject {
  periodKey: number;
  tenantKey: number;
  phase: PeriodPhase;
}

/** Returns what works out the course of tenants; the days on which a workspace was read are looked up once. */
export function createCourses(connection: Database.Database): (subject: CourseSubject) => Course {
  const entriesOf = connection
    .prepare(
      // The run that is being applied has no end yet.
      `SELECT r.finished_at, e.credits_after FROM usage_entries e JOIN runs r ON r.run_key = e.run_key
       WHERE e.period_key = ? AND e.tenant_key = ? ORDER BY e.entry_id`,
    )
    .safeIntegers()
    .raw();
  const figuresOf = figuresReader(connection);
  const day = sql<string>`substr(strftime('%Y-%m-%dT%H:%M:%fZ', ${runs.finishedAt}, ${-TOLERANCE_MS / 1000} || ' seconds'), 1, 10)`;
  const readDays = onceEach((periodKey: number): ReadonlySet<string> => {
    const period = periodOfKey(periodKey);
    const isApplied = and(eq(runs.workspaceKey, workspaceKeyOf(periodKey)), eq(runs.status, 'applied'));
    const isSince = gte(runs.finishedAt, isoTime(periodStartMs(addPeriods(period, -1))));
    const isBefore = lt(runs.finishedAt, isoTime(periodEndMs(period) + TOLERANCE_MS));
    const rows = query(connection)
      .selectDistinct({ day })
      .from(runs)
      .where(and(isApplied, isSince, isBefore))
      .all();
    return new Set(rows.map((row) => row.day));
  });
  const readingsOf = (periodKey: number, tenantKey: number, nowMs: number): PeriodReadings => ({
    readings: (entriesOf.all(periodKey, tenantKey) as [string | null, bigint][]).map(([at, credits]) => ({
      // A run that ends just after midnight has read the day before.
      atMs: (at === null ? nowMs : Date.parse(at)) - TOLERANCE_MS,
      credits,
    })),
    total: figuresOf(periodKey, tenantKey)?.credits ?? null,
  });

  return ({ periodKey, tenantKey, phase }) => {
    const period = periodOfKey(periodKey);
    const elapsedMs = phase.over ? phase.lengthMs : phase.elapsedMs;
    const nowMs = periodStartMs(period) + elapsedMs;
    const days = readDays(periodKey);
    const wasRead = (day: string) => days.has(day);
    return buildCourse({
      period,
      elapsedMs,
      wasRead,
      current: readingsOf(periodKey, tenantKey, nowMs),
      previous: readingsOf(periodKey - 1, tenantKey, nowMs),
    });
  };
}
