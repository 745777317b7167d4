import fc from 'fast-check';
import { PageScanner } from '../../src/speed/scan-page.ts';
import { isBillingMonth } from '../../src/usage-api/answers/billing-month.ts';
import { MAX_TENANT_ID_BYTES } from '../../src/usage-api/answers/check-item.ts';
import { parseUsagePage } from '../../src/usage-api/answers/check-page.ts';
import type { PageWhere } from '../../src/usage-api/answers/page-faults.ts';

const WHERE = { page: 7, workspaceId: 'ws-1' };

/** The scanner with the parser of the client. */
export function createScanner(coldPages = 0): PageScanner<PageWhere> {
  const parser = { parse: parseUsagePage, isBillingMonth, maxTenantIdBytes: MAX_TENANT_ID_BYTES };
  return new PageScanner<PageWhere>(parser, coldPages);
}

interface Item {
  tenant_id: string;
  period: string;
  period_start: string;
  period_end: string;
  credits_used: number;
  request_count: number;
}

const month = fc.constantFrom(
  ['2025-12', '2025-12-01T00:00:00Z', '2025-12-31T23:59:59Z'],
  ['2026-01', '2026-01-01T00:00:00Z', '2026-01-31T23:59:59Z'],
  ['2026-01', '2026-01-01T00:00:00', '2026-02-01T00:00:00'],
  ['2036-01', '2036-01-01T00:00:00+02:00', '2036-01-31T23:59:59.999Z'],
);

const figure = fc.oneof(fc.nat(100_000), fc.integer({ min: -9999, max: -1 }), fc.nat(999_999_999_999_999));

const item = fc.record({ id: fc.stringMatching(/^[ !#-[\]-~]{1,30}$/), month, credits: figure, requests: figure }).map(
  ({ id, month: [period, start, end], credits, requests }): Item => ({
    tenant_id: id,
    period: period ?? '',
    period_start: start ?? '',
    period_end: end ?? '',
    credits_used: credits,
    request_count: requests,
  }),
);

export const items = fc.array(item, { minLength: 1, maxLength: 12 });
const MEMBERS = ['tenant_id', 'period', 'period_start', 'period_end', 'credits_used', 'request_count'];

/** Services differ in the order of members and in the space between tokens. */
export const style = fc.record({
  order: fc.oneof(fc.constant(MEMBERS), fc.shuffledSubarray(MEMBERS, { minLength: MEMBERS.length })),
  space: fc.constantFrom('', ' ', '\n  ', '\t'),
  usageFirst: fc.boolean(),
});

export function page(usage: string, workspace = 'ws-1'): Uint8Array {
  const text = `{"success":true,"data":{"workspace_id":"${workspace}",${usage},"total_records":1,"total_pages":1}}`;
  return new TextEncoder().encode(text);
}

interface Read {
  records: (string | number | bigint)[][];
  totals: [number, number];
}

export function scan(scanner: PageScanner<PageWhere>, body: Uint8Array): Read | null {
  const page = scanner.scan(body, WHERE);
  if (page === null) return null;
  const { idStarts, idEnds, periods, credits, requests } = page;
  const records = Array.from({ length: page.records }, (_, at) => [
    new TextDecoder().decode(body.subarray(idStarts[at], idEnds[at])),
    periods[at] ?? '',
    credits[at] ?? 0,
    requests[at] ?? 0,
  ]);
  return { records, totals: [page.totalRecords, page.totalPages] };
}

export function parse(body: Uint8Array): Read {
  const { usage, total_records, total_pages } = parseUsagePage(body, WHERE);
  const records = usage.map((one) => [one.tenant_id, one.period, one.credits_used, one.request_count]);
  return { records, totals: [total_records, total_pages] };
}

export function isRight(body: Uint8Array): boolean {
  try {
    parse(body);
    return true;
  } catch {
    return false;
  }
}

export function pageOf(
  records: readonly Item[],
  { order, space, usageFirst }: { order: string[]; space: string; usageFirst: boolean },
): Uint8Array {
  const member = (name: string, text: string) => `"${name}":${space}${text}`;
  const comma = `${space},${space}`;
  const usage = records.map((record) => {
    const members = order.map((name) => member(name, JSON.stringify(record[name as keyof Item])));
    return `{${space}${members.join(comma)}${space}}`;
  });
  const rest = [member('workspace_id', '"ws-1"'), member('total_records', '12'), member('total_pages', '3')];
  const listed = member('usage', `[${space}${usage.join(comma)}${space}]`);
  const data = usageFirst ? [listed, ...rest] : [...rest, listed];
  const text = `{"success":true,"message":"Usage é","data":{${data.join(comma)}}}`;
  return new TextEncoder().encode(text);
}
