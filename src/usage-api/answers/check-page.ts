import { checkItem, isPlainItem, isRounded, type UncheckedItem, type UsageItem } from './check-item.ts';
import { idFault, kindFault, type PageWhere, pageFault } from './page-fault.ts';
import { mayHoldLongNumber, mayUnderflow, parseJsonExact } from './parse-json.ts';
import { hasNoRoomToRepeat, repeatedMember } from './repeated-member.ts';
import { describeValue, envelopeMessage } from './server-text.ts';

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
    const answer = parse(JSON.parse, text, where);
    const page = checkUsagePage(answer, where);
    if (page !== null && !(hasZero(page) && mayUnderflow(body))) return withoutRepeats(page, answer, text, where);
  }
  const answer = parse(parseJsonExact, text, where);
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
  const envelope = objectAt(answer, 'the answer', where);
  const data = checkEnvelope(envelope, where);
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
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw kindFault(value, path, 'an object', where);
}

function decode(body: Uint8Array, where: PageWhere): string {
  try {
    return utf8.decode(body);
  } catch {
    throw pageFault('the answer is not valid UTF-8', where);
  }
}

/** What the parser says is left out: it quotes the answer. */
function parse(parser: (text: string) => unknown, text: string, where: PageWhere): unknown {
  try {
    return parser(text);
  } catch {
    throw pageFault('the answer is not JSON', where);
  }
}
