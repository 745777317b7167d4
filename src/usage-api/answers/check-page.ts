import { parseDateTime } from '../../core/date-time.ts';
import { LARGEST_FIGURE } from '../../core/figure.ts';
import { isPeriod, periodBounds } from '../../core/period.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { type ApiErrorOptions, type EndpointLabel, InvalidResponseError } from '../errors.ts';
import { mayHoldLongNumber, mayUnderflow, parseJsonExact, repeatedMember } from './parse-json.ts';
import { describeValue, envelopeMessage, isEnvelope, isObject } from './server-text.ts';
import { type BodyDescription, describeBody, describeJson } from './unexpected-body.ts';

/**
 * A checked page of 4.3 or 4.4, in the service's own names. Fields that the interface document does not know stay where they
 * are in a record, and are neither named nor counted.
 */
export interface UsagePage {
  workspace_id: string;
  /** Only in the history of one tenant. */
  tenant_id?: string;
  usage: UsageItem[];
  total_records: number;
  total_pages: number;
}

type Fields = Record<string, unknown>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses and checks the body of a usage page, exactly: integers from -(2^63-1) to 2^63-1 come through unrounded, as bigints
 * beyond 2^53-1. Needs nothing of the client, so it can run in another thread than the one that fetched the page.
 *
 * Throws InvalidResponseError that names field and page, such as `data.usage[3].credits_used is missing (page 7)`.
 */
export function parseUsagePage(body: Uint8Array, where: PageWhere): UsagePage {
  const text = decode(body, where);
  if (!mayHoldLongNumber(body)) {
    const answer = parse(JSON.parse, text, body, where);
    const page = checkUsagePage(answer, where);
    if (page !== null && !(hasZero(page) && mayUnderflow(body))) return withoutRepeats(page, answer, text, where);
  }
  const answer = parse(parseJsonExact, text, body, where);
  const page = checkUsagePage(answer, where);
  if (page === null) throw pageFault('a number could not be read exactly', where);
  return withoutRepeats(page, answer, text, where);
}

function withoutRepeats(page: UsagePage, answer: unknown, text: string, where: PageWhere): UsagePage {
  const { message } = answer as Fields;
  const repeated = hasNoRoomToRepeat(text, { message, page }) ? null : repeatedMember(text, answer);
  if (repeated === null) return page;
  throw pageFault(`${describeValue(repeated, where.redact)} stands twice in one object`, where);
}

function hasZero({ usage, total_records: records, total_pages: pages }: UsagePage): boolean {
  return records === 0 || pages === 0 || usage.some((item) => item.credits_used === 0 || item.request_count === 0);
}

/**
 * Checks a parsed answer of the two usage endpoints by hand, because this runs for every record. The parsed objects
 * themselves are returned; fields that the interface document does not know are ignored, so that the service may add
 * some.
 *
 * Null: some integer is beyond 2^53-1, so `JSON.parse` may have rounded it, and the text must be parsed exactly.
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
    const said = envelopeMessage(envelope, where.redact);
    throw pageFault(said === null ? 'success is false' : `success is false: ${said}`, where, { serverMessage: said });
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

function decode(body: Uint8Array, where: PageWhere): string {
  try {
    return utf8.decode(body);
  } catch {
    throw bodyFault('the answer is not valid UTF-8', body, where);
  }
}

/** The parser's own message is left out: it quotes the answer. */
function parse(parser: (text: string) => unknown, text: string, body: Uint8Array, where: PageWhere): unknown {
  try {
    return parser(text);
  } catch {
    throw bodyFault('the answer is not JSON', body, where);
  }
}

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

type UncheckedItem = { readonly [name in keyof UsageItem]?: unknown };

/** A name longer than this is a fault of the service: it would fill the ledger, its tables and every message. */
export const MAX_TENANT_ID_BYTES = 1024;

const FIGURES = '±(2^63-1)';

/** UTF-8 needs at most this many bytes for one unit of a JavaScript string. */
const BYTES_PER_UNIT = 3;

/** True for an item that is right and has no bigints: nearly every one. `checkItem` says what the others are. */
function isPlainItem(item: UncheckedItem, tenantId: string | undefined): boolean {
  return (
    isTenant(item.tenant_id, tenantId) &&
    isBillingMonth(item.period, item.period_start, item.period_end) &&
    Number.isSafeInteger(item.credits_used) &&
    Number.isSafeInteger(item.request_count)
  );
}

/** Throws InvalidResponseError naming what is wrong with an item that is not plain; returns when it is right anyway. */
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

/** Lone surrogates cannot be stored: two different ones become the same UTF-8 bytes, and two tenants one. */
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
export function isBillingMonth(period: unknown, start: unknown, end: unknown): boolean {
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

/** What a page was asked for: the ids must come back, and the page number goes into errors. */
export interface PageWhere {
  page: number | null;
  workspaceId: string;
  tenantId?: string | undefined;
  /** Removes the known secrets from quoted text. Without it nothing of an answer that is not JSON is quoted. */
  redact?: Redactor | undefined;
  /** Status and content type of the response, for the error about an answer that is not one of the API. */
  status?: number | undefined;
  contentType?: string | null | undefined;
}

function pageFault(
  problem: string,
  where: PageWhere,
  details: Pick<ApiErrorOptions, 'serverMessage' | 'hint'> = {},
): InvalidResponseError {
  const endpoint = endpointOf(where);
  return new InvalidResponseError(`${endpoint}: ${problem}${pageOf(where)}`, { endpoint, ...details });
}

function bodyFault(problem: string, body: Uint8Array, where: PageWhere): InvalidResponseError {
  return describedFault(problem, describeBody(body, { ...where, endpoint: endpointOf(where) }), where);
}

/** JSON, but not an envelope of the API. */
function envelopeFault(answer: unknown, where: PageWhere): InvalidResponseError {
  const problem = isObject(answer)
    ? 'success is missing'
    : `the answer is ${describeValue(answer, where.redact)}, not an object`;
  const description = describeJson(answer, { ...where, endpoint: endpointOf(where) });
  if (where.status === undefined) return pageFault(problem, where, { hint: description.hint });
  return describedFault(problem, description, where);
}

function describedFault(problem: string, { text, hint }: BodyDescription, where: PageWhere): InvalidResponseError {
  const endpoint = endpointOf(where);
  const status = where.status ?? null;
  return new InvalidResponseError(`${endpoint}: ${problem}${pageOf(where)}: ${text}`, { endpoint, status, hint });
}

function endpointOf({ tenantId }: PageWhere): EndpointLabel {
  return tenantId === undefined ? 'workspace usage' : 'tenant usage';
}

function pageOf({ page }: PageWhere): string {
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

/** `"data":0,`: no member of an answer takes less. */
const SHORTEST_MEMBER = 9;
const ITEM_LENGTH = '{"tenant_id":"","period":"","period_start":"","period_end":"","credits_used":,"request_count":},'
  .length;

interface ReadPage {
  message: unknown;
  page: { usage: readonly UsageItem[] };
}

/** Whether the text is so short that it has no member but those that were read from it. */
export function hasNoRoomToRepeat(text: string, read: ReadPage): boolean {
  return text.length - leastLength(read) < SHORTEST_MEMBER;
}

/** In how many characters the page can be written at least. */
function leastLength({ message, page: { usage, ...data } }: ReadPage): number {
  const text = typeof message === 'string' ? message : undefined;
  let length = JSON.stringify({ message: text, success: true, data: { ...data, usage: [] } }).length - 1;
  for (const item of usage) {
    const texts = item.tenant_id.length + item.period.length + item.period_start.length + item.period_end.length;
    length += ITEM_LENGTH + texts + leastDigits(item.credits_used) + leastDigits(item.request_count);
  }
  return length;
}

/** At least: what ends in three zeros may be written with an exponent. */
function leastDigits(figure: number | bigint): number {
  if (typeof figure === 'bigint' || figure % 1000 === 0) return 1;
  let digits = figure < 0 ? 2 : 1;
  for (let bound = 10; bound <= Math.abs(figure); bound *= 10) digits++;
  return digits;
}
