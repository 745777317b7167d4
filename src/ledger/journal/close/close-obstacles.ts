import { isoTime } from '../../../core/clock.ts';
import { type Period, periodEndMs } from '../../../core/period.ts';
import type { LedgerConnection } from '../../store/file/open.ts';

/** Two complete walks that agree must lie this far apart to prove that a period has stopped moving. */
export const AGREEMENT_HOURS = 12;
const HOUR_MS = 3_600_000;

interface CoveringRun {
  runId: string;
  appliedSeq: number;
  startedAt: string;
  finishedAt: string;
}

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

  const covering = connection
    .prepare(
      `SELECT run_id AS runId, applied_seq AS appliedSeq, started_at AS startedAt, finished_at AS finishedAt
       FROM runs WHERE workspace_key = ? AND status = 'applied' AND from_period <= ? AND to_period >= ?
         AND started_at >= ? ORDER BY applied_seq`,
    )
    .all(workspaceKey, period, period, isoTime(endMs)) as CoveringRun[];
  // A walk that missed a record did not agree with the one that showed it again, although no entry says so.
  const lastChange = Number(
    connection
      .prepare(
        `SELECT coalesce(max(r.applied_seq), 0) FROM runs r WHERE r.run_key IN (
           (SELECT e.run_key FROM usage_entries e WHERE e.entry_id =
             (SELECT max(entry_id) FROM usage_entries WHERE period_key = :periodKey)),
           (SELECT unsteady_run_key FROM periods WHERE period_key = :periodKey))`,
      )
      .pluck()
      .get({ periodKey }),
  );
  const agreeing = covering.filter((run) => run.appliedSeq >= lastChange);
  const [first] = agreeing;
  const last = agreeing.at(-1);
  if (first === undefined || last === undefined) {
    obstacles.push('no complete walk has been made since it ended; sync first');
  } else if (Date.parse(last.startedAt) - Date.parse(first.finishedAt) < AGREEMENT_HOURS * HOUR_MS) {
    const earliest = isoTime(Date.parse(first.finishedAt) + AGREEMENT_HOURS * HOUR_MS);
    obstacles.push(
      `two complete walks ${AGREEMENT_HOURS} h apart must agree: it has stood unchanged since ${first.runId}, ` +
        `a walk after ${earliest} would be the second`,
    );
  }
  const absent = Number(
    connection.prepare('SELECT count(*) FROM absences WHERE period_key = ?').pluck().get(periodKey),
  );
  if (absent > 0) obstacles.push(`${absent} of its records are missing from the latest walk and not yet withdrawn`);
  return obstacles;
}
