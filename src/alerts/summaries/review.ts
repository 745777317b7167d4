import { createHash } from 'node:crypto';
import { WEEKDAYS } from '../../config/types.ts';
import { isoTime } from '../../core/clock.ts';
import { formatMinute } from '../../core/date-time.ts';
import { addPeriods, type Period, periodAt, periodEndMs, periodStartMs } from '../../core/period.ts';
import { counted } from '../../core/text/counted.ts';
import { stringifyExact } from '../../core/text/exact-json.ts';
import { inertJson } from '../../core/text/inert-text.ts';
import { percentOf } from '../measures/percent.ts';
import { type ChannelRoute, hourOf } from '../track/routes.ts';

const DAY_MS = 86_400_000;
/** A review whose hour was missed for longer is not made up for. */
const LATEST_MS = 3 * DAY_MS;

/** A look back that is due for a channel, also when nothing happened. */
export interface DueReview {
  notificationId: string;
  kind: 'weekly' | 'month_end';
  channel: string;
  rules: ChannelRoute['rules'];
  workspaces: ChannelRoute['workspaces'];
  dueMs: number;
  /** What is looked back at, from the first moment to before the second. */
  fromMs: number;
  toMs: number;
  /** The month, for a review of one. */
  period: Period | null;
}

/** The reviews of a channel whose hour has come within the last three days, whether they have been made or not. */
export function dueReviews(route: ChannelRoute, { nowMs, settleHours }: ReviewMoment): DueReview[] {
  const found: Omit<DueReview, 'notificationId' | 'channel' | 'rules' | 'workspaces'>[] = [];
  const hour = hourOf(route);
  if (route.weeklyDigest !== undefined) {
    const today = new Date(nowMs).setUTCHours(hour, 0, 0, 0);
    const behind = (new Date(today).getUTCDay() - WEEKDAYS.indexOf(route.weeklyDigest) + 7) % 7;
    const latest = today - behind * DAY_MS;
    const dueMs = latest > nowMs ? latest - 7 * DAY_MS : latest;
    found.push({ kind: 'weekly', dueMs, fromMs: dueMs - 7 * DAY_MS, toMs: dueMs, period: null });
  }
  if (route.monthEndDigest === true) {
    const dueOf = (period: Period) => nextHour(hour, periodEndMs(period) + settleHours * 3_600_000);
    const last = addPeriods(periodAt(nowMs), -1);
    const period = dueOf(last) <= nowMs ? last : addPeriods(last, -1);
    found.push({
      kind: 'month_end',
      dueMs: dueOf(period),
      fromMs: periodStartMs(period),
      toMs: periodEndMs(period),
      period,
    });
  }
  return found
    .filter(({ dueMs }) => dueMs <= nowMs && nowMs - dueMs <= LATEST_MS)
    .map((review) => {
      const notificationId = reviewId(['alert.review', review.kind, route.channel, review.dueMs]);
      return { ...review, notificationId, channel: route.channel, rules: route.rules, workspaces: route.workspaces };
    });
}

/** The review in place of one that was made before its time, by a clock ahead that showed `madeAt`. */
export function anewAfter(review: DueReview, madeAt: string): DueReview {
  return { ...review, notificationId: reviewId([review.notificationId, madeAt]) };
}

function reviewId(key: readonly (string | number)[]): string {
  return `msg_${createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 32)}`;
}

export interface ReviewMoment {
  nowMs: number;
  /** The longest time that a workspace's months take to settle. */
  settleHours: number;
}

/** What a workspace has to say of the time looked back at. */
export interface WorkspaceReview {
  workspaceId: string;
  completeRuns: number;
  lastCompleteRunAt: string | null;
  /** Alerts that were told, that ended, that were kept quiet, and that are open now. */
  fired: number;
  resolved: number;
  muted: number;
  open: number;
  /** Credits of the month and of the one before; null without a month. */
  credits: { previous: bigint; current: bigint } | null;
}

/** The JSON text of a review as it is stored and sent. */
export function renderReview(review: DueReview, workspaces: readonly WorkspaceReview[], createdAt: string): string {
  const payload = {
    notification_id: review.notificationId,
    type: 'alert.review',
    kind: review.kind,
    severity: 'warning',
    channel: review.channel,
    from: isoTime(review.fromMs),
    to: isoTime(review.toMs),
    period: review.period,
    workspaces: workspaces.map(
      ({ workspaceId, completeRuns, lastCompleteRunAt, fired, resolved, muted, open, credits }) => ({
        workspace_id: workspaceId,
        complete_runs: completeRuns,
        last_complete_run_at: lastCompleteRunAt,
        ...{ fired, resolved, muted, open },
        credits: credits === null ? null : { ...credits, change_percent: changeOf(credits) },
      }),
    ),
    created_at: createdAt,
    summary: reviewLine(review, workspaces),
  };
  return inertJson(stringifyExact(payload));
}

function reviewLine({ kind, period, toMs }: DueReview, workspaces: readonly WorkspaceReview[]): string {
  const sum = (of: (workspace: WorkspaceReview) => number) => workspaces.reduce((total, each) => total + of(each), 0);
  const what = kind === 'month_end' ? `Month ${period}` : `Week to ${formatMinute(isoTime(toMs))} UTC`;
  const [fired, resolved, open] = [sum((each) => each.fired), sum((each) => each.resolved), sum((each) => each.open)];
  const happened =
    fired + resolved + open === 0
      ? 'nothing happened and nothing is open'
      : `${counted(fired, 'alert')} fired, ${resolved} resolved, ${open} open now`;
  return `${what}: ${happened}; ${counted(workspaces.length, 'workspace')}, ${counted(
    sum((each) => each.completeRuns),
    'complete run',
  )}.`;
}

function changeOf({ previous, current }: { previous: bigint; current: bigint }): number | null {
  return percentOf(current - previous, previous);
}

/** The first full hour of that number at or after a moment. */
function nextHour(hour: number, atMs: number): number {
  const sameDay = new Date(atMs).setUTCHours(hour, 0, 0, 0);
  return sameDay >= atMs ? sameDay : sameDay + DAY_MS;
}
