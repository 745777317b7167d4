import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { addPeriods, periodEndMs, periodStartMs } from '../../core/period.ts';
import { periodOfKey, workspaceKeyOf } from '../../ledger/store/schema/keys.ts';
import type { PeriodPhase } from '../rules/rule.ts';
import { buildCourse, type Course, type PeriodReadings } from './course.ts';

export interface CourseSubject {
  periodKey: number;
  tenantKey: number;
  phase: PeriodPhase;
}

/** Returns what works out the course of tenants; the days on which a workspace was read are looked up once. */
export function createCourses(connection: Database.Database): (subject: CourseSubject) => Course {
  const entriesOf = connection
    .prepare(
      // The run that is being published has no end yet.
      `SELECT r.finished_at, e.credits_after FROM usage_entries e JOIN runs r ON r.run_key = e.run_key
       WHERE e.period_key = ? AND e.tenant_key = ? ORDER BY e.entry_id`,
    )
    .safeIntegers()
    .raw();
  const totalOf = connection
    .prepare('SELECT credits_used FROM tenant_usage WHERE period_key = ? AND tenant_key = ?')
    .safeIntegers()
    .pluck();
  const daysOf = connection
    .prepare(
      `SELECT DISTINCT substr(finished_at, 1, 10) FROM runs
       WHERE workspace_key = ? AND status = 'applied' AND finished_at >= ? AND finished_at < ?`,
    )
    .pluck();
  const known = new Map<number, ReadonlySet<string>>();
  const readDays = (periodKey: number): ReadonlySet<string> => {
    const found = known.get(periodKey);
    if (found !== undefined) return found;
    const period = periodOfKey(periodKey);
    const workspaceKey = workspaceKeyOf(periodKey);
    const from = isoTime(periodStartMs(addPeriods(period, -1)));
    const days = new Set(daysOf.all(workspaceKey, from, isoTime(periodEndMs(period))) as string[]);
    known.set(periodKey, days);
    return days;
  };
  const readingsOf = (periodKey: number, tenantKey: number, nowMs: number): PeriodReadings => ({
    readings: (entriesOf.all(periodKey, tenantKey) as [string | null, bigint][]).map(([at, credits]) => ({
      atMs: at === null ? nowMs : Date.parse(at),
      credits,
    })),
    total: (totalOf.get(periodKey, tenantKey) as bigint | undefined) ?? null,
  });

  return ({ periodKey, tenantKey, phase }) => {
    const period = periodOfKey(periodKey);
    const elapsedMs = phase.over ? phase.lengthMs : phase.elapsedMs;
    const nowMs = periodStartMs(period) + elapsedMs;
    const days = readDays(periodKey);
    const wasRead = (day: string) => days.has(day);
    return buildCourse({
      ...{ period, elapsedMs, wasRead },
      current: readingsOf(periodKey, tenantKey, nowMs),
      previous: readingsOf(periodKey - 1, tenantKey, nowMs),
    });
  };
}
