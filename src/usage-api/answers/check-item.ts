import { parseDateTime } from '../../core/date-time.ts';
import { isPeriod } from '../../core/period.ts';
import { idFault, kindFault, type PageWhere, pageFault } from './page-fault.ts';
import { describeValue } from './server-text.ts';

/** One tenant's usage in one period (interface document, section 2). Integers beyond 2^53-1 are bigints. */
export interface UsageItem {
  tenant_id: string;
  /** `YYYY-MM`, a real month. */
  period: string;
  /** ISO-8601 as the service wrote it; without a zone it is UTC. */
  period_start: string;
  period_end: string;
  credits_used: number | bigint;
  request_count: number | bigint;
}

/** The fields of an item, not yet known to be what they should be. */
export type UncheckedItem = { readonly [name in keyof UsageItem]?: unknown };

export const MAX_INT64 = 2n ** 63n - 1n;
export const MIN_INT64 = -(2n ** 63n);
/** Bound of the memories below: a service that makes up dates must not fill ours. */
const MAX_REMEMBERED = 4096;
/** Date texts found good: a listing has only a few, repeated in every record. */
const knownDates = new Set<string>();
/** Per period the bounds seen last, so that the usual record costs one look-up and two comparisons. */
const lastBounds = new Map<string, { start: string; end: string }>();

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
  if (where.tenantId !== undefined && tenant !== where.tenantId) {
    throw idFault(tenant, where.tenantId, `${path}.tenant_id`, where);
  }
  if (typeof period !== 'string') throw kindFault(period, `${path}.period`, 'a string', where);
  if (!isPeriod(period)) throw kindFault(period, `${path}.period`, 'a month', where);
  checkDateTime(item.period_start, `${path}.period_start`, where);
  checkDateTime(item.period_end, `${path}.period_end`, where);
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
export function isWellFormed(text: string): boolean {
  return !/\p{Cs}/u.test(text);
}

function isTenant(id: unknown, asked: string | undefined): boolean {
  if (typeof id !== 'string' || id === '') return false;
  return asked === undefined ? isWellFormed(id) : id === asked;
}

function isBillingMonth(period: unknown, start: unknown, end: unknown): boolean {
  if (typeof period !== 'string' || typeof start !== 'string' || typeof end !== 'string') return false;
  const bounds = lastBounds.get(period);
  if (bounds !== undefined && bounds.start === start && bounds.end === end) return true;
  if (!isPeriod(period) || !isDateTime(start) || !isDateTime(end)) return false;
  if (lastBounds.size >= MAX_REMEMBERED) lastBounds.clear();
  lastBounds.set(period, { start, end });
  return true;
}

/** True for an ISO-8601 date-time that names a real instant. */
export function isDateTime(text: string): boolean {
  if (knownDates.has(text)) return true;
  if (parseDateTime(text) === null) return false;
  if (knownDates.size >= MAX_REMEMBERED) knownDates.clear();
  knownDates.add(text);
  return true;
}

function checkDateTime(value: unknown, path: string, where: PageWhere): void {
  if (typeof value !== 'string') throw kindFault(value, path, 'a string', where);
  if (!isDateTime(value)) throw kindFault(value, path, 'an ISO-8601 date-time', where);
}

function checkInteger(value: unknown, path: string, where: PageWhere): void {
  if (typeof value === 'bigint') {
    if (value >= MIN_INT64 && value <= MAX_INT64) return;
    throw pageFault(`${path} is ${describeValue(value)}, beyond 64 bits`, where);
  }
  if (value === Infinity || value === -Infinity) throw pageFault(`${path} is beyond 64 bits`, where);
  if (!Number.isInteger(value)) throw kindFault(value, path, 'an integer', where);
}
