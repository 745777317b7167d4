import { parseDateTime } from '../../core/date-time.ts';
import { LARGEST_FIGURE } from '../../core/figure.ts';
import { isPeriod, periodBounds } from '../../core/period.ts';
import { idFault, kindFault, type PageWhere, pageFault } from './page-fault.ts';
import { describeValue } from './server-text.ts';

/** Zones and ways to write an end move a month's bounds by less; another billing cycle moves them by more. */
const SLACK_MS = 86_400_000;
/** Bound of the memory below: a service that makes up dates must not fill ours. */
const MAX_REMEMBERED = 4096;
/** Per period the bounds seen last, so that the usual record costs one look-up and two comparisons. */
const lastBounds = new Map<string, { start: string; end: string }>();

/** One tenant's usage in one period (interface document, section 2). Integers beyond 2^53-1 are bigints. */
export interface UsageItem {
  /** At most `MAX_TENANT_ID_BYTES` in UTF-8. */
  tenant_id: string;
  /** `YYYY-MM`, a real month. */
  period: string;
  /** ISO-8601 as the service wrote it; without a zone it is UTC. At most a day from the bounds of the month in UTC. */
  period_start: string;
  period_end: string;
  credits_used: number | bigint;
  request_count: number | bigint;
}

/** The fields of an item, not yet known to be what they should be. */
export type UncheckedItem = { readonly [name in keyof UsageItem]?: unknown };

/** A name longer than this is a fault of the service: it would fill the ledger, its tables and every message. */
export const MAX_TENANT_ID_BYTES = 1024;

const FIGURES = '±(2^63-1)';

/** UTF-8 needs at most this many bytes for one unit of a JavaScript string. */
const BYTES_PER_UNIT = 3;

/** True for an item that is right and has no bigints: nearly every one. `checkItem` says what the others are. */
export function isPlainItem(item: UncheckedItem, tenantId: string | undefined): boolean {
  return (
    isTenant(item.tenant_id, tenantId) &&
    isBillingMonth(item.period, item.period_start, item.period_end) &&
    Number.isSafeInteger(item.credits_used) &&
    Number.isSafeInteger(item.request_count)
  );
}

/** Throws InvalidResponseError naming what is wrong with an item that is not plain; returns when it is right anyway. */
export function checkItem(item: UncheckedItem, path: string, where: PageWhere): void {
  const { tenant_id: tenant, period } = item;
  if (typeof tenant !== 'string') throw kindFault(tenant, `${path}.tenant_id`, 'a string', where);
  if (tenant === '') throw pageFault(`${path}.tenant_id is empty`, where);
  if (!isWellFormed(tenant)) throw pageFault(`${path}.tenant_id is not valid Unicode`, where);
  if (isTooLong(tenant)) {
    const length = Buffer.byteLength(tenant);
    throw pageFault(`${path}.tenant_id has ${length} bytes, more than ${MAX_TENANT_ID_BYTES}`, where);
  }
  if (where.tenantId !== undefined && tenant !== where.tenantId) {
    throw idFault(tenant, where.tenantId, `${path}.tenant_id`, where);
  }
  if (typeof period !== 'string') throw kindFault(period, `${path}.period`, 'a string', where);
  if (!isPeriod(period)) throw kindFault(period, `${path}.period`, 'a month', where);
  checkBounds(period, item, path, where);
  checkInteger(item.credits_used, `${path}.credits_used`, where);
  checkInteger(item.request_count, `${path}.request_count`, where);
}

/** True when `JSON.parse` may have rounded one of the item's integers. */
export function isRounded(item: UncheckedItem): boolean {
  return [item.credits_used, item.request_count].some(
    (value) => Number.isInteger(value) && !Number.isSafeInteger(value),
  );
}

/** Lone surrogates cannot be stored: two different ones become the same UTF-8 bytes, and two tenants one. */
function isWellFormed(text: string): boolean {
  return text.isWellFormed();
}

/** True for a tenant id of more than `MAX_TENANT_ID_BYTES` in UTF-8. */
function isTooLong(tenantId: string): boolean {
  return tenantId.length * BYTES_PER_UNIT > MAX_TENANT_ID_BYTES && Buffer.byteLength(tenantId) > MAX_TENANT_ID_BYTES;
}

function isTenant(id: unknown, asked: string | undefined): boolean {
  if (typeof id !== 'string' || id === '' || isTooLong(id)) return false;
  return asked === undefined ? isWellFormed(id) : id === asked;
}

function checkBounds(period: string, item: UncheckedItem, path: string, where: PageWhere): void {
  const start = dateTimeAt(item.period_start, `${path}.period_start`, where);
  const end = dateTimeAt(item.period_end, `${path}.period_end`, where);
  const stray = strayBound(period, start, end);
  if (stray === null) return;
  const found = describeValue(stray.field === 'period_start' ? start : end, where.redact);
  const problem = `${path}.${stray.field} is ${found}, more than a day from ${stray.expected} for ${period}`;
  throw pageFault(problem, where, {
    hint: 'a period is the calendar month in UTC here: ask the service to bill the workspace by calendar months',
  });
}

function dateTimeAt(value: unknown, path: string, where: PageWhere): string {
  if (typeof value !== 'string') throw kindFault(value, path, 'a string', where);
  if (parseDateTime(value) === null) throw kindFault(value, path, 'an ISO-8601 date-time', where);
  return value;
}

function checkInteger(value: unknown, path: string, where: PageWhere): void {
  if (typeof value === 'bigint') {
    if (value >= -LARGEST_FIGURE && value <= LARGEST_FIGURE) return;
    throw pageFault(`${path} is ${describeValue(value, where.redact)}, beyond ${FIGURES}`, where);
  }
  if (value === Infinity || value === -Infinity) throw pageFault(`${path} is beyond ${FIGURES}`, where);
  if (!Number.isInteger(value)) throw kindFault(value, path, 'an integer', where);
}

/** True for a month whose bounds are date-times of the calendar month in UTC, give or take a day. */
function isBillingMonth(period: unknown, start: unknown, end: unknown): boolean {
  if (typeof period !== 'string' || typeof start !== 'string' || typeof end !== 'string') return false;
  const bounds = lastBounds.get(period);
  if (bounds !== undefined && bounds.start === start && bounds.end === end) return true;
  if (!isPeriod(period) || parseDateTime(start) === null || parseDateTime(end) === null) return false;
  if (strayBound(period, start, end) !== null) return false;
  if (lastBounds.size >= MAX_REMEMBERED) lastBounds.clear();
  lastBounds.set(period, { start, end });
  return true;
}

/** The bound that lies more than a day from that of the calendar month in UTC, and where it should lie. */
function strayBound(
  period: string,
  start: string,
  end: string,
): { field: 'period_start' | 'period_end'; expected: string } | null {
  const month = periodBounds(period);
  if (isFar(start, month.start)) return { field: 'period_start', expected: month.start };
  return isFar(end, month.end) ? { field: 'period_end', expected: month.end } : null;
}

function isFar(text: string, expected: string): boolean {
  return Math.abs((parseDateTime(text) ?? Number.NaN) - Date.parse(expected)) > SLACK_MS;
}
