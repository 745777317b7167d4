import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';

/** A time further ahead than this shows that the clock was. */
const AHEAD_MS = 60_000;
/** A look comes late. */
const SLACK_MS = 25 * 60_000;

export interface AheadMoment {
  nowMs: number;
  clocksRightSinceMs: number;
  someoneFitSinceMs: number;
}

const LATEST = `SELECT max(at) FROM (
  SELECT max(coalesce(finished_at, started_at)) AS at FROM runs UNION ALL SELECT max(at) FROM period_events)`;
const TOLD = `SELECT count(*) FROM finance_alerts WHERE cause = 'clock' AND rule = 'job_failed'
  AND (state IN ('firing', 'acknowledged') OR (state = 'pending' AND first_fired_at IS NOT NULL))`;

/** That the ledger holds times to come is told for as long as it does. */
export class TimesAheadOracle {
  readonly #slackMs: number;
  #isAhead = false;
  #sinceMs = 0;

  /** `lateMs`: by how much looks at what is due may be later than is usual. */
  constructor(lateMs: number) {
    this.#slackMs = SLACK_MS + lateMs;
  }

  check(ledger: LedgerView, { nowMs, clocksRightSinceMs, someoneFitSinceMs }: AheadMoment): void {
    const latest = ledger.value<string | null>(LATEST);
    const isAhead = latest !== null && Date.parse(latest) > nowMs + AHEAD_MS;
    if (isAhead !== this.#isAhead) this.#sinceMs = nowMs;
    this.#isAhead = isAhead;
    if (nowMs - Math.max(this.#sinceMs, clocksRightSinceMs, someoneFitSinceMs) < this.#slackMs) return;
    if (isAhead === ledger.value<bigint>(TOLD) > 0n) return;
    throw new PromiseBroken('times to come are told while there are any', `up to ${latest}, told: ${!isAhead}`);
  }
}
