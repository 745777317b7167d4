import type Database from 'better-sqlite3';
import type { AlertThresholds } from '../config/types.ts';
import { addPeriods, periodAt, periodEndMs } from '../core/period.ts';
import type { MergedRun } from '../ledger/apply-run.ts';
import { periodKeyOf, periodOfKey } from '../ledger/keys.ts';
import { AlertStore, type OpenAlert, type RunAlerts, type Subject } from './alert-store.ts';
import { evaluateJump, jumpCleared, jumpThreshold } from './rules/jump.ts';

type Connection = Database.Database;

/** What a run needs to know to evaluate the rules; plain data, because it crosses threads. */
export interface RunAlertSettings {
  thresholds: AlertThresholds;
  /** Names of the channels that are told. */
  channels: readonly string[];
  /** Rules speak of the current period and this many before it, at least of one. */
  lookbackPeriods: number;
  /** A period's figures have settled this many hours after its end. */
  settleHours: number;
}

/**
 * Evaluates the jump rule over what a run has changed, over periods that have settled since the last run, and over the
 * alerts that are open; stores the outcome with its notifications. Runs inside the transaction that publishes the run,
 * so an alert exists exactly when the figures behind it do.
 */
export function evaluateRun(merged: MergedRun, settings: RunAlertSettings): RunAlerts {
  const { connection, run, nowMs } = merged;
  const store = new AlertStore(merged, settings.channels);
  const judge = createJudge(merged, settings);
  // The period before moves until it has settled, so a jump may show only then: without lookback it counts too.
  const lookback = Math.max(1, settings.lookbackPeriods);
  const oldest = periodKeyOf(run.workspaceKey, addPeriods(periodAt(nowMs), -lookback));
  const floor = Math.max(1, settings.thresholds.minCredits);
  const growth = settings.thresholds.ratio * RATIO_MARGIN;

  const seen = new Set<string>();
  const consider = (subject: Subject): void => {
    const key = `${subject.periodKey}.${subject.tenantKey}`;
    if (seen.has(key)) return;
    seen.add(key);
    const finding = judge.find(subject);
    if (finding !== null) store.fire(subject, finding);
  };
  for (const subject of changedSubjects(connection, merged, oldest, floor, growth)) consider(subject);
  for (const periodKey of judge.settledPeriods(oldest)) {
    for (const subject of subjectsOfPeriod(connection, periodKey, floor, growth)) consider(subject);
    connection.prepare('UPDATE periods SET final_run_key = ? WHERE period_key = ?').run(run.runKey, periodKey);
  }
  for (const alert of store.openAlerts()) {
    const finding = judge.find(alert);
    if (finding !== null) store.fire(alert, finding);
    else if (judge.cleared(alert)) store.resolve(alert, judge.threshold(alert));
  }
  return store.outcome();
}

/** The pure rule with what it needs from the ledger. */
function createJudge(merged: MergedRun, settings: RunAlertSettings) {
  const { connection, run, nowMs } = merged;
  const { thresholds } = settings;
  const earlier = connection
    .prepare(
      `SELECT 1 FROM periods p JOIN tenant_usage u ON u.period_key = p.period_key AND u.tenant_key = ?
       WHERE p.workspace_key = ? AND p.period_key < ? LIMIT 1`,
    )
    .pluck();
  const isSettled = (periodKey: number): boolean =>
    nowMs >= periodEndMs(periodOfKey(periodKey)) + settings.settleHours * 3_600_000;
  return {
    find: (subject: Subject) =>
      evaluateJump({
        current: subject.current,
        previous: subject.previous,
        // A tenant's first period began at some day of the month, so a normal month after it looks like a jump.
        previousIsFirstEver: earlier.get(subject.tenantKey, run.workspaceKey, subject.periodKey - 1) === undefined,
        periodOver: nowMs >= periodEndMs(periodOfKey(subject.periodKey)),
        settled: isSettled(subject.periodKey),
        thresholds,
      }),
    cleared: (alert: OpenAlert) => jumpCleared(alert.current.credits, alert.previous.credits, thresholds),
    threshold: (alert: OpenAlert) => jumpThreshold(alert.previous.credits, thresholds),
    settledPeriods: (oldestKey: number): number[] => {
      const waiting = connection
        .prepare('SELECT period_key FROM periods WHERE workspace_key = ? AND period_key >= ? AND final_run_key IS NULL')
        .pluck()
        .all(run.workspaceKey, oldestKey) as number[];
      return waiting.filter(isSettled);
    },
  };
}

/** A necessary condition of a jump, so that SQLite sorts out all but a few rows: see `jumpThreshold`. */
const GREW = `prev.credits_used > 0 AND cur.withdrawn = 0 AND cur.credits_used - prev.credits_used >= ?
  AND cur.credits_used >= prev.credits_used * ?`;
/** SQLite multiplies doubles: it may be off by less than this either way, and the exact rule has the last word. */
const RATIO_MARGIN = 1 - 1e-9;
const FIGURES = `cur.period_key, cur.tenant_key, cur.credits_used, cur.request_count, prev.credits_used,
  prev.request_count`;
const PAIRED = 'prev.period_key = cur.period_key - 1 AND prev.tenant_key = cur.tenant_key';

type FigureRow = [bigint, bigint, bigint, bigint, bigint, bigint];

/**
 * Tenants whose figures of a period, or of the period before it, this run has changed. The few periods that rules speak
 * of are read in the order of their keys: after a first run that is a third of the cost of going by its entries.
 */
function changedSubjects(
  connection: Connection,
  { run, lastEntryIdBefore }: MergedRun,
  oldest: number,
  floor: number,
  growth: number,
): Subject[] {
  const { runKey, workspaceKey } = run;
  const rows = connection
    .prepare(
      `SELECT ${FIGURES} FROM periods p
       JOIN tenant_usage cur ON cur.period_key = p.period_key
       JOIN tenant_usage prev ON ${PAIRED}
       WHERE p.workspace_key = ? AND p.period_key >= ? AND (cur.changed_run_key = ? OR prev.changed_run_key = ?)
         AND EXISTS (SELECT 1 FROM usage_entries WHERE entry_id > ?) AND ${GREW}`,
    )
    .safeIntegers()
    .raw()
    .all(workspaceKey, oldest, runKey, runKey, lastEntryIdBefore, floor, growth) as FigureRow[];
  return rows.map(toSubject);
}

function subjectsOfPeriod(connection: Connection, periodKey: number, floor: number, growth: number): Subject[] {
  const rows = connection
    .prepare(
      `SELECT ${FIGURES} FROM tenant_usage cur JOIN tenant_usage prev ON ${PAIRED}
       WHERE cur.period_key = ? AND ${GREW}`,
    )
    .safeIntegers()
    .raw()
    .all(periodKey, floor, growth) as FigureRow[];
  return rows.map(toSubject);
}

function toSubject(row: FigureRow): Subject {
  const [periodKey, tenantKey, credits, requests, previousCredits, previousRequests] = row;
  return {
    periodKey: Number(periodKey),
    tenantKey: Number(tenantKey),
    current: { credits, requests },
    previous: { credits: previousCredits, requests: previousRequests },
  };
}
