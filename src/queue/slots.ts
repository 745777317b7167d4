import { CronExpressionParser } from 'cron-parser';

/**
 * The latest time that the expression (UTC) names and that is not after `nowMs`, in milliseconds since the epoch; null
 * when there never was one. Throws on an expression that cannot be read: the configuration was checked before.
 */
export function latestSlot(cron: string, nowMs: number): number | null {
  // `prev` looks strictly before its date, and a slot lasts from its second on.
  const currentDate = new Date((Math.floor(nowMs / 1000) + 1) * 1000);
  const expression = CronExpressionParser.parse(cron, { tz: 'UTC', currentDate });
  return expression.hasPrev() ? expression.prev().getTime() : null;
}

/**
 * The slot that is due for catching up, as an ISO time: the latest one, once, however many were missed; null when the
 * last one that the ledger knows is not older. An entry without a last slot is due at once.
 */
export function dueSlot(cron: string, lastSlot: string | null, nowMs: number): string | null {
  const latestMs = latestSlot(cron, nowMs);
  if (latestMs === null) return null;
  if (lastSlot !== null && Date.parse(lastSlot) >= latestMs) return null;
  return new Date(latestMs).toISOString();
}

/**
 * The expression in the words of node-cron: six fields, lists written out. Where both the day of the month and the day
 * of the week are given, cron means either; node-cron means both, so it gets one expression for each.
 */
export function tickExpressions(cron: string): string[] {
  const fields = CronExpressionParser.parse(cron, { tz: 'UTC' }).stringify(true).split(' ');
  const [second, minute, hour, dayOfMonth, month, dayOfWeek] = fields;
  if (dayOfMonth === '*' || dayOfWeek === '*') return [fields.join(' ')];
  return [
    [second, minute, hour, dayOfMonth, month, '*'].join(' '),
    [second, minute, hour, '*', month, dayOfWeek].join(' '),
  ];
}
