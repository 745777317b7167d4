import { parseDateTime } from '../../core/date-time.ts';
import { LARGEST_FIGURE } from '../../core/figure.ts';
import { isPeriod, periodBounds } from '../../core/period.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { type ApiErrorOptions, type EndpointLabel, InvalidResponseError } from '../errors.ts';
import { findRepeatedMember, mayHoldLongNumber, mayUnderflow, parseJsonExact } from './parse-json.ts';
import { describeValue, envelopeMessage, isEnvelope, isObject } from './server-text.ts';
import { type BodyDescription, describeBody, describeJson } from './unexpected-body.ts';

/**
 * A checked page of endpoint 4.3 or 4.4, with the service's field names. Records keep unknown fields, which are
 * ignored.
 */
export interface UsagePage {
  workspace_id: string;
  /** Set only in the history of one tenant. */
  tenant_id?: string;
  usage: UsageItem[];
  total_records: number;
  total_pages: number;
}

type Fields = Record<string, unknown>;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses and checks the body of a usage page. Integers from -(2^63-1) to 2^63-1 are exact: beyond 2^53-1 they are
 * bigints. Independent of the client, so it can run in another thread than the one that fetched the page.
 *
 * Throws InvalidResponseError that names field and page, such as `data.usage[3].credits_used is missing (page 7)`.
 */
export function parseUsagePage(body: Uint8Array, where: PageWhere): UsagePage {
  const text = decodeUtf8(body, where);
  if (!mayHoldLongNumber(body)) {
    const answer = parseBody(JSON.parse, text, body, where);
    const page = checkUsagePage(answer, where);
    if (page !== null && !(hasZero(page) && mayUnderflow(body))) return withoutRepeats(page, answer, text, where);
  }
  const answer = parseBody(parseJsonExact, text, body, where);
  const page = checkUsagePage(answer, where);
  if (page === null) throw pageFault('a number could not be read exactly', where);
  return withoutRepeats(page, answer, text, where);
}

function withoutRepeats(page: UsagePage, answer: unknown, text: string, where: PageWhere): UsagePage {
  const { message } = answer as Fields;
  const repeated = hasNoRoomToRepeat(text, { message, page }) ? null : findRepeatedMember(text, answer);
  if (repeated === null) return page;
  throw pageFault(`${describeValue(repeated, where.redact)} appears twice in one object`, where);
}

function hasZero({ usage, total_records: records, total_pages: pages }: UsagePage): boolean {
  return records === 0 || pages === 0 || usage.some((item) => item.credits_used === 0 || item.request_count === 0);
}

/**
 * Checks the parsed response of a usage endpoint and returns its own objects, or null when an integer is beyond 2^53-1:
 * `JSON.parse` may have rounded it, and the text must be parsed exactly. Fields outside the API specification are
 * ignored, so that the service may add some. Written by hand instead of with a schema, because it runs for every
 * record.
 */
function checkUsagePage(answer: unknown, where: PageWhere): UsagePage | null {
  if (!isEnvelope(answer)) throw envelopeFault(answer, where);
  const data = checkEnvelope(answer, where);
  const { tenantId } = where;
  if (data.workspace_id !== where.workspaceId) {
    throw idFault(data.workspace_id, where.workspaceId, 'data.workspace_id', where);
  }
  if (tenantId !== undefined && data.tenant_id !== tenantId) {
    throw idFault(data.tenant_id, tenantId, 'data.tenant_id', where);
  }
  if (!Array.isArray(data.usage)) throw kindFault(data.usage, 'data.usage', 'an array', where);
  const items: unknown[] = data.usage;
  let rounded = false;
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    if (typeof item !== 'object' || item === null) throw kindFault(item, `data.usage[${index}]`, 'an object', where);
    if (!isPlainItem(item as UncheckedItem, tenantId)) {
      checkItem(item as UncheckedItem, `data.usage[${index}]`, where);
      rounded ||= isRounded(item as UncheckedItem);
    }
  }
  const page: UsagePage = {
    workspace_id: where.workspaceId,
    usage: items as UsageItem[],
    total_records: totalAt(data.total_records, 'data.total_records', where),
    total_pages: totalAt(data.total_pages, 'data.total_pages', where),
  };
  if (tenantId !== undefined) page.tenant_id = tenantId;
  return rounded ? null : page;
}

function checkEnvelope(envelope: Fields, where: PageWhere): Fields {
  const { success, data } = envelope;
  if (success === false) {
    const serverMessage = envelopeMessage(envelope, where.redact);
    throw pageFault(serverMessage === null ? 'success is false' : `success is false: ${serverMessage}`, where, {
      serverMessage,
    });
  }
  if (success !== true) throw kindFault(success, 'success', 'true or false', where);
  return objectAt(data, 'data', where);
}

function totalAt(value: unknown, path: string, where: PageWhere): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw kindFault(value, path, 'a count', where);
}

function objectAt(value: unknown, path: string, where: PageWhere): Fields {
  if (isObject(value)) return value;
  throw kindFault(value, path, 'an object', where);
}

function decodeUtf8(body: Uint8Array, where: PageWhere): string {
  try {
    return strictUtf8.decode(body);
  } catch {
    throw bodyFault('the response is not valid UTF-8', body, where);
  }
}

/** Calls the parser without passing on its message, which quotes the response. */
function parseBody(parser: (text: string) => unknown, text: string, body: Uint8Array, where: PageWhere): unknown {
  try {
    return parser(text);
  } catch {
    throw bodyFault('the response is not JSON', body, where);
  }
}

/**
 * A bound may differ this much from the month in UTC: time zones and inclusive ends shift it by less, another billing
 * cycle by more.
 */
const MAX_BOUND_OFFSET_MS = 86_400_000;
/** `lastBounds` is cleared at this size, so that a service that invents dates cannot fill the memory. */
const MAX_REMEMBERED_PERIODS = 4096;
/** The last bounds of each period, so that the usual record costs one look-up and two comparisons. */
const lastBounds = new Map<string, { start: string; end: string }>();

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

type UncheckedItem = { readonly [name in keyof UsageItem]?: unknown };

/** A longer id is rejected as a defect of the service: it would bloat the ledger and every message. */
export const MAX_TENANT_ID_BYTES = 1024;

const FIGURES = '±(2^63-1)';

/** UTF-8 needs at most this many bytes for one unit of a JavaScript string. */
const BYTES_PER_UNIT = 3;

/** Reports that an item is valid and has no bigints, as nearly all are. `checkItem` names the problem of the others. */
function isPlainItem(item: UncheckedItem, tenantId: string | undefined): boolean {
  return (
    isTenant(item.tenant_id, tenantId) &&
    isBillingMonth(item.period, item.period_start, item.period_end) &&
    Number.isSafeInteger(item.credits_used) &&
    Number.isSafeInteger(item.request_count)
  );
}

/** Throws InvalidResponseError if the item is invalid. Returns if it is valid but not plain, as with bigints. */
function checkItem(item: UncheckedItem, path: string, where: PageWhere): void {
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
function isRounded(item: UncheckedItem): boolean {
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
    throw pageFault(`${path} is ${describeValue(value, where.redact)}, beyond ${FIGURES}`, where);
  }
  if (value === Infinity || value === -Infinity) throw pageFault(`${path} is beyond ${FIGURES}`, where);
  if (!Number.isInteger(value)) throw kindFault(value, path, 'an integer', where);
}

/** Reports that `period` is a month and that its bounds are date-times within a day of the calendar month in UTC. */
export function isBillingMonth(period: unknown, start: unknown, end: unknown): boolean {
  if (typeof period !== 'string' || typeof start !== 'string' || typeof end !== 'string') return false;
  const bounds = lastBounds.get(period);
  if (bounds !== undefined && bounds.start === start && bounds.end === end) return true;
  if (!isPeriod(period) || parseDateTime(start) === null || parseDateTime(end) === null) return false;
  if (findStrayBound(period, start, end) !== null) return false;
  if (lastBounds.size >= MAX_REMEMBERED_PERIODS) lastBounds.clear();
  lastBounds.set(period, { start, end });
  return true;
}

/** Finds the bound that is more than a day from the calendar month in UTC, and the expected value; null if both fit. */
function findStrayBound(
  period: string,
  start: string,
  end: string,
): { field: 'period_start' | 'period_end'; expected: string } | null {
  const month = periodBounds(period);
  if (isOffByMoreThanADay(start, month.start)) return { field: 'period_start', expected: month.start };
  return isOffByMoreThanADay(end, month.end) ? { field: 'period_end', expected: month.end } : null;
}

function isOffByMoreThanADay(text: string, expected: string): boolean {
  return Math.abs((parseDateTime(text) ?? Number.NaN) - Date.parse(expected)) > MAX_BOUND_OFFSET_MS;
}

/** The request for a page: the response must repeat its ids, and errors name its page. */
export interface PageWhere {
  page: number | null;
  workspaceId: string;
  tenantId?: string | undefined;
  /** Removes known secrets from quoted text. Without it, a response that is not JSON is not quoted at all. */
  redact?: Redactor | undefined;
  /** Status and content type of the response, for errors about a body that is not the API's. */
  status?: number | undefined;
  contentType?: string | null | undefined;
}

function pageFault(
  problem: string,
  where: PageWhere,
  details: Pick<ApiErrorOptions, 'serverMessage' | 'hint'> = {},
): InvalidResponseError {
  const endpoint = endpointOf(where);
  return new InvalidResponseError(`${endpoint}: ${problem}${pageSuffix(where)}`, { endpoint, ...details });
}

function bodyFault(problem: string, body: Uint8Array, where: PageWhere): InvalidResponseError {
  return describedFault(problem, describeBody(body, { ...where, endpoint: endpointOf(where) }), where);
}

/** Builds the error for JSON that is not an envelope of the API. */
function envelopeFault(answer: unknown, where: PageWhere): InvalidResponseError {
  const problem = isObject(answer)
    ? 'success is missing'
    : `the response is ${describeValue(answer, where.redact)}, not an object`;
  const description = describeJson(answer, { ...where, endpoint: endpointOf(where) });
  if (where.status === undefined) return pageFault(problem, where, { hint: description.hint });
  return describedFault(problem, description, where);
}

function describedFault(problem: string, { text, hint }: BodyDescription, where: PageWhere): InvalidResponseError {
  const endpoint = endpointOf(where);
  const status = where.status ?? null;
  return new InvalidResponseError(`${endpoint}: ${problem}${pageSuffix(where)}: ${text}`, { endpoint, status, hint });
}

function endpointOf({ tenantId }: PageWhere): EndpointLabel {
  return tenantId === undefined ? 'workspace usage' : 'tenant usage';
}

function pageSuffix({ page }: PageWhere): string {
  return page === null ? '' : ` (page ${page})`;
}

function kindFault(value: unknown, path: string, kind: string, where: PageWhere): InvalidResponseError {
  return pageFault(
    value === undefined ? `${path} is missing` : `${path} is ${describeValue(value, where.redact)}, not ${kind}`,
    where,
  );
}

function idFault(value: unknown, asked: string, path: string, where: PageWhere): InvalidResponseError {
  if (value === undefined) return pageFault(`${path} is missing`, where);
  return pageFault(
    `${path} is ${describeValue(value, where.redact)}, but ${describeValue(asked)} was asked for`,
    where,
  );
}

/** Length of `"data":0,`, the shortest possible member of a response. */
const SHORTEST_MEMBER_LENGTH = 9;
const EMPTY_ITEM_LENGTH =
  '{"tenant_id":"","period":"","period_start":"","period_end":"","credits_used":,"request_count":},'.length;

interface ParsedPage {
  message: unknown;
  page: { usage: readonly UsageItem[] };
}

/** Reports that the text is too short to hold more members than were parsed from it, so that none is a duplicate. */
export function hasNoRoomToRepeat(text: string, read: ParsedPage): boolean {
  return text.length - leastLength(read) < SHORTEST_MEMBER_LENGTH;
}

/** Returns the shortest possible length of the page as JSON, in characters. */
function leastLength({ message, page: { usage, ...data } }: ParsedPage): number {
  const text = typeof message === 'string' ? message : undefined;
  let length = JSON.stringify({ message: text, success: true, data: { ...data, usage: [] } }).length - 1;
  for (const item of usage) {
    const texts = item.tenant_id.length + item.period.length + item.period_start.length + item.period_end.length;
    length += EMPTY_ITEM_LENGTH + texts + leastDigits(item.credits_used) + leastDigits(item.request_count);
  }
  return length;
}

/** Returns the fewest characters for a figure. Figures that end in three zeros may be written with an exponent. */
function leastDigits(figure: number | bigint): number {
  if (typeof figure === 'bigint' || figure % 1000 === 0) return 1;
  let digits = figure < 0 ? 2 : 1;
  for (let bound = 10; bound <= Math.abs(figure); bound *= 10) digits++;
  return digits;
}
