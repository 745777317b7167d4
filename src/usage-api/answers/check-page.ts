import { checkItem, isPlainItem, isRounded, type UncheckedItem, type UsageItem } from './check-item.ts';
import { bodyFault, envelopeFault, idFault, kindFault, type PageWhere, pageFault } from './page-faults.ts';
import { findRepeatedMember, mayHoldLongNumber, mayUnderflow, parseJsonExact } from './parse-json.ts';
import { cannotHoldDuplicates } from './room-to-repeat.ts';
import { describeValue, envelopeMessage, isEnvelope, isObject } from './server-text.ts';

/**
 * A checked page of endpoint 4.3 or 4.4, with the service's field names. Unknown fields of records are kept, but not
 * checked.
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
 * bigints. It needs no client, so another thread than the one that fetched the page can call it.
 *
 * Throws InvalidResponseError that names field and page, such as `data.usage[3].credits_used is missing (page 7)`.
 */
export function parseUsagePage(body: Uint8Array, where: PageWhere): UsagePage {
  const text = decodeUtf8(body, where);
  if (!mayHoldLongNumber(body)) {
    const answer = parsePageBody(JSON.parse, text, body, where);
    const page = checkUsagePage(answer, where);
    if (page !== null && !(hasZero(page) && mayUnderflow(body))) return withoutRepeats(page, answer, text, where);
  }
  const answer = parsePageBody(parseJsonExact, text, body, where);
  const page = checkUsagePage(answer, where);
  if (page === null) throw pageFault('a number could not be read exactly', where);
  return withoutRepeats(page, answer, text, where);
}

function withoutRepeats(page: UsagePage, answer: unknown, text: string, where: PageWhere): UsagePage {
  const { message } = answer as Fields;
  const repeated = cannotHoldDuplicates(text, { message, page }) ? null : findRepeatedMember(text, answer);
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

/** Calls the parser, and drops the message of its error, because that message quotes the response. */
function parsePageBody(parser: (text: string) => unknown, text: string, body: Uint8Array, where: PageWhere): unknown {
  try {
    return parser(text);
  } catch {
    throw bodyFault('the response is not JSON', body, where);
  }
}
