import { CronExpressionParser } from 'cron-parser';

const DAY_MS = 24 * 60 * 60_000;
/** A week and a day: every pause that a cron expression makes at night or on certain weekdays lies within. */
const SPAN_MS = 8 * DAY_MS;
/** Expressions that come due more seldom still show a few pauses. */
const MIN_SLOTS = 4;

/** A tick may come late and the run takes its time. */
const STALE_GRACE_MS = 60_000;

/** Without a complete run for this long a workspace is stale: two of the longest pauses of its cron, and a minute. */
export function staleAfterMs(cron: string, nowMs: number): number {
  return 2 * longestPauseMs(cron, nowMs) + STALE_GRACE_MS;
}

/**
 * The longest pause, in milliseconds, between the next slots of a five-field cron expression in UTC. It is the pause
 * that counts, not the usual distance: working hours only must not look like an outage every night. Throws on an
 * expression that cannot be read: the configuration was checked before.
 */
export function longestPauseMs(cron: string, nowMs: number): number {
  const slots = CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: new Date(nowMs) });
  const { dayOfMonth, month, dayOfWeek } = slots.fields;
  const spanMs = [dayOfMonth, month, dayOfWeek].every(({ isWildcard }) => isWildcard) ? DAY_MS : SPAN_MS;
  const firstMs = slots.next().getTime();
  let longestMs = 0;
  let lastMs = firstMs;
  for (let seen = 1; seen < MIN_SLOTS || lastMs - firstMs < spanMs; seen += 1) {
    const slotMs = slots.next().getTime();
    longestMs = Math.max(longestMs, slotMs - lastMs);
    lastMs = slotMs;
  }
  return longestMs;
}
