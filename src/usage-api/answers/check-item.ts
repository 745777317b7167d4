import { parseDateTime } from '../../core/date-time.ts';
import { LARGEST_FIGURE } from '../../core/figure.ts';
import { isPeriod } from '../../core/period.ts';
import { findStrayBound, isBillingMonth } from './billing-month.ts';
import { idFault, kindFault, type PageWhere, pageFault } from './page-faults.ts';
import { describeValue } from './server-text.ts';

/** One tenant's usage in one period (API specification, section 2). Integers beyond 2^53-1 are bigints. */
export interface UsageItem {
  /** At most `MAX_TENANT_ID_BYTES` in UTF-8. */
  tenant_id: string;
  /** `YYYY-MM`, a real month. */
  period: string;
  /**
   * ISO-8601 in the service's notation, in UTC if it has no zone. At most a day from the bounds of the month in UTC.
   */
  period_start: string;
  period_end: string;
  credits_used: number | bigint;
  request_count: number | bigint;
}

export type UncheckedItem = { readonly [name in keyof UsageItem]?: unknown };

/** A longer tenant id is rejected as a defect of the service: it would bloat the ledger and every message. */
export const MAX_TENANT_ID_BYTES = 1024;

const FIGURE_LIMIT = '±(2^63-1)';

/** UTF-8 needs at most this many bytes for one UTF-16 unit of a JavaScript string. */
const BYTES_PER_UNIT = 3;

/** Reports whether an item is valid and has no bigints, as nearly all items are. `checkItem` examines the others. */
export function isPlainItem(item: UncheckedItem, tenantId: string | undefined): boolean {
  return (
    isTenant(item.tenant_id, tenantId) &&
    isBillingMonth(item.period, item.period_start, item.period_end) &&
    Number.isSafeInteger(item.credits_used) &&
    Number.isSafeInteger(item.request_count)
  );
}

/** Throws InvalidResponseError if the item is invalid. Returns if it is valid but not plain, as with bigints. */
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

/** Rejects lone surrogates: different ones become the same UTF-8 bytes, which would merge two tenants. */
function isWellFormed(text: string): boolean {
  return text.isWellFormed();
}

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
  const stray = findStrayBound(period, start, end);
  if (stray === null) return;
  const found = describeValue(stray.field === 'period_start' ? start : end, where.redact);
  const problem = `${path}.${stray.field} is ${found}, more than a day from ${stray.expected} for ${period}`;
  throw pageFault(problem, where, {
    hint: 'ask the service operator to bill the workspace by calendar months in UTC',
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
    throw pageFault(`${path} is ${describeValue(value, where.redact)}, outside the range ${FIGURE_LIMIT}`, where);
  }
  if (value === Infinity || value === -Infinity) throw pageFault(`${path} is outside the range ${FIGURE_LIMIT}`, where);
  if (!Number.isInteger(value)) throw kindFault(value, path, 'an integer', where);
}
