import { counted } from '../../../core/text/counted.ts';
import type { UsageItem } from '../../../usage-api/answers/check-item.ts';
import type { UsagePage } from '../../../usage-api/answers/check-page.ts';
import type { Finding } from '../finding.ts';

/** The most records that a page may be asked for. */
export const PER_PAGE = 100;

/** One thing that the program takes for granted of a service, as it was found. */
export type Verdict = Omit<Finding, 'check' | 'subject'>;

export function judgeFigures(items: readonly UsageItem[]): Verdict {
  const large = items.filter((item) => typeof item.credits_used === 'bigint' || typeof item.request_count === 'bigint');
  const some = large.length === 0 ? '' : `; ${counted(large.length, 'record')} beyond 2^53, read exactly`;
  return fine(`the figures of ${counted(items.length, 'record')} are whole numbers${some}`);
}

export function judgeOrder({ usage }: UsagePage, again: UsagePage): Verdict {
  if (keysOf(usage) === keysOf(again.usage)) return fine('the same question brings the same rows in the same order');
  return doubt(
    'the same question brings other rows, or another order',
    'ask the service for a fixed order: a listing of several pages whose rows move is read up to three times, and ' +
      'applies nothing when they move each time',
  );
}

export function judgeFilter(period: string, month: UsagePage, whole: UsagePage): Verdict {
  const stranger = month.usage.find((item) => item.period !== period);
  if (stranger !== undefined) {
    return wrong(
      `asked for ${period}, it gives ${stranger.period}, too`,
      'from_period and to_period have to be obeyed: a run that reads another month applies nothing',
    );
  }
  const counts = month.total_records <= PER_PAGE;
  const isWhole = whole.usage.some((item) => item.period !== period) && month.total_records === whole.total_records;
  if (counts ? month.total_records !== month.usage.length : isWhole) {
    return wrong(
      `asked for ${period}, total_records says ${month.total_records} where there are ${counts ? month.usage.length : 'fewer'}`,
      'total_records has to count what was asked for: a run proves by it that nothing is missing, and applies nothing',
    );
  }
  return fine(`from_period and to_period are obeyed, and total_records counts what was asked for`);
}

/** `around` are the windows that begin and that end with the period; null where the period alone has its records. */
export function judgeBounds(period: string, around: [from: UsagePage, to: UsagePage] | null): Verdict {
  if (around === null) return fine('from_period and to_period are included in what they bound');
  const [from, to] = around.map(({ usage }) => usage.some((item) => item.period === period));
  const left = [...(from ? [] : ['from_period']), ...(to ? [] : ['to_period'])];
  return wrong(
    `${period} is missing where it is ${left.length === 0 ? 'both bounds' : left.join(' and where it is ')}`,
    'both have to be included: the months at the ends of a window would never be read',
  );
}

export function judgePageSize({ usage, total_records: records, total_pages: pages }: UsagePage): Verdict {
  const expected = Math.min(PER_PAGE, records);
  if (pages !== Math.ceil(records / Math.max(1, usage.length))) {
    return wrong(
      `it says ${counted(pages, 'page')} for ${counted(records, 'record')}, of which the first has ${usage.length}`,
      'pages have to hold the same number of records each: a run that misses some applies nothing',
    );
  }
  if (usage.length === expected) return fine(`a page has the ${expected} records that were asked for`);
  return doubt(
    `asked for ${PER_PAGE} records a page, it gives ${usage.length}`,
    'nothing is lost: a run takes as many more requests; raise requests_per_second when that is too slow',
  );
}

export function judgePages(whole: UsagePage, second: UsagePage): Verdict {
  const [, expected] = whole.usage;
  if (expected === undefined) return fine('there is but one record, on one page');
  if (second.usage.length === 1 && keysOf(second.usage) === keysOf([expected])) {
    const same = second.total_records === whole.total_records && second.total_pages === whole.total_records;
    if (same) return fine('pages follow one another without gap or repetition, and all say the same totals');
    return wrong(
      `page 2 of one record each says ${second.total_records} records on ${second.total_pages} pages, page 1 of ` +
        `${PER_PAGE} says ${whole.total_records} records`,
      'totals have to be the same on every page: a run whose pages differ applies nothing',
    );
  }
  return wrong(
    `page 2 of one record each has ${second.usage.length === 1 ? 'another record than the second' : `${second.usage.length} records`}`,
    'per_page and page have to be obeyed together: rows between two pages would be missed, and a run applies nothing',
  );
}

export function judgeBeyond(page: UsagePage | null): Verdict {
  if (page === null) return fine('a page beyond the last is refused');
  if (page.usage.length === 0) return fine('a page beyond the last is empty');
  return doubt(
    `a page beyond the last repeats ${counted(page.usage.length, 'record')}`,
    'nothing to do: a listing that becomes shorter while it is read is read again instead of ending',
  );
}

export function judgeHistory(period: string, listed: readonly UsageItem[], history: UsagePage): Verdict {
  const own = new Map(history.usage.map((item) => [item.period, item]));
  const [first] = listed;
  const expected = listed.filter((item) => item.tenant_id === first?.tenant_id);
  const missing = expected.find((item) => !own.has(item.period));
  if (missing !== undefined && history.total_pages <= 1) {
    return wrong(
      `a tenant's own history lacks ${missing.period}, which the listing of all has`,
      'a record that leaves the listing is withdrawn when the history lacks it, too: ask the service why they differ',
    );
  }
  const settled = expected.find((item) => item.period === period);
  const same = settled === undefined ? undefined : own.get(period);
  if (same !== undefined && settled?.credits_used !== same.credits_used) {
    return doubt(
      `of ${period} a tenant's own history says other credits than the listing of all`,
      'the ledger goes by the listing; ask the service which of the two it bills by',
    );
  }
  return fine("a tenant's own history agrees with the listing of all");
}

export function judgeAbsent(page: UsagePage | null): Verdict {
  if (page === null) return fine('a tenant that is not there is answered with 404');
  if (page.usage.length === 0) return fine('a tenant that is not there has an empty history');
  return wrong(
    'a tenant that is not there is given records',
    'ask the service: nothing that leaves the listing can be confirmed as withdrawn',
  );
}

/** Which records these are, in their order. */
function keysOf(items: readonly UsageItem[]): string {
  return JSON.stringify(items.map((item) => [item.tenant_id, item.period]));
}

function fine(message: string): Verdict {
  return { status: 'ok', message, remedy: null };
}

function doubt(message: string, remedy: string): Verdict {
  return { status: 'warn', message, remedy };
}

export function wrong(message: string, remedy: string): Verdict {
  return { status: 'fail', message, remedy };
}
