import type { Config, WorkspaceConfig } from '../../../config/types.ts';
import type { Clock } from '../../../core/clock.ts';
import { AppError, summarizeError } from '../../../core/errors.ts';
import { addPeriods } from '../../../core/period.ts';
import type { Redactor } from '../../../core/text/redact.ts';
import { counted } from '../../../core/text/words.ts';
import type { UsageItem } from '../../../usage-api/answers/check-item.ts';
import { parseUsagePage, type UsagePage } from '../../../usage-api/answers/check-page.ts';
import { UsageApiClient, type UsagePageQuery } from '../../../usage-api/client.ts';
import { type DoctorFinding, warn } from '../finding.ts';

/** A tenant id that no workspace has. */
const NO_SUCH_TENANT = 'usage-ledger-probe-no-such-tenant';

/**
 * Tests whether the service behaves as the program assumes where the API documentation says nothing. It sends about ten
 * read requests, one after the other. The service must have records.
 */
export async function probeService(workspaceId: string, trial: Trial): Promise<DoctorFinding[]> {
  const ask = async (query: UsagePageQuery): Promise<UsagePage> =>
    (await trial.ask({ page: 1, perPage: PER_PAGE, ...query })).page;
  let whole: UsagePage;
  try {
    whole = await ask({});
  } catch (error) {
    return [{ check: 'probe', subject: workspaceId, ...untested(error) }];
  }
  const [first] = whole.usage;
  if (first === undefined) {
    const message = 'the service has no records yet: nothing could be tested';
    return [warn('probe', message, 'run it again once there are records', workspaceId)];
  }
  // The oldest month is used, because its records do not change while they are tested.
  const period = whole.usage.map((item) => item.period).reduce((a, b) => (b < a ? b : a));
  const between = (from: number, to: number): Promise<UsagePage> =>
    ask({ fromPeriod: addPeriods(period, from), toPeriod: addPeriods(period, to) });
  const trials: [assumption: string, judge: () => ProbeVerdict | Promise<ProbeVerdict>][] = [
    ['figures', () => judgeFigures(whole.usage)],
    ['order', async () => judgeOrder(whole, await ask({}))],
    ['filter', async () => judgeFilter(period, await between(0, 0), whole)],
    [
      'bounds',
      async () => {
        const isIncluded = (await between(0, 0)).usage.length > 0;
        return isIncluded
          ? judgeBounds(period, null)
          : judgeBounds(period, [await between(0, 1), await between(-1, 0)]);
      },
    ],
    ['page size', () => judgePageSize(whole)],
    ['pages', async () => judgePages(whole, await ask({ page: 2, perPage: 1 }))],
    [
      'beyond',
      async () => judgeBeyond(await unless(['not_found', 'bad_request'], ask({ page: whole.total_pages + 1 }))),
    ],
    ['history', async () => judgeHistory(period, whole.usage, await ask({ tenantId: first.tenant_id }))],
    ['absent', async () => judgeAbsent(await unless(['not_found'], ask({ tenantId: NO_SUCH_TENANT })))],
  ];
  const findings: DoctorFinding[] = [];
  for (const [assumption, judge] of trials) {
    findings.push({ check: `probe ${assumption}`, subject: workspaceId, ...(await verdictOf(judge)) });
  }
  return findings;
}

/** Returns the requested page. Returns null if the request fails with one of these error codes. */
async function unless(codes: readonly string[], request: Promise<UsagePage>): Promise<UsagePage | null> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof AppError && codes.includes(error.code)) return null;
    throw error;
  }
}

async function verdictOf(judge: () => ProbeVerdict | Promise<ProbeVerdict>): Promise<ProbeVerdict> {
  try {
    return await judge();
  } catch (error) {
    return untested(error);
  }
}

function untested(error: unknown): ProbeVerdict {
  const { message, hint } = summarizeError(error);
  return wrong(`could not be tested: ${message}`, hint ?? 'ask the service operator');
}

/** The largest page that the API allows. */
const PER_PAGE = 100;

type ProbeVerdict = Omit<DoctorFinding, 'check' | 'subject'>;

function judgeFigures(items: readonly UsageItem[]): ProbeVerdict {
  const large = items.filter((item) => typeof item.credits_used === 'bigint' || typeof item.request_count === 'bigint');
  const some = large.length === 0 ? '' : `; ${counted(large.length, 'record')} beyond 2^53, read exactly`;
  return fine(`the figures of ${counted(items.length, 'record')} are whole numbers${some}`);
}

function judgeOrder({ usage }: UsagePage, again: UsagePage): ProbeVerdict {
  if (usageKeys(usage) === usageKeys(again.usage))
    return fine('the same request returns the same rows in the same order');
  return doubt(
    'the same request returns different rows, or a different order',
    'ask the service operator for a fixed order: when rows move between pages, a run reads the listing up to three times, ' +
      'and applies nothing if they move each time',
  );
}

function judgeFilter(period: string, month: UsagePage, whole: UsagePage): ProbeVerdict {
  const outsider = month.usage.find((item) => item.period !== period);
  if (outsider !== undefined) {
    return wrong(
      `a request for ${period} also returns ${outsider.period}`,
      'the service must apply from_period and to_period: a run that reads another month applies nothing',
    );
  }
  const fitsOnePage = month.total_records <= PER_PAGE;
  const isWhole = whole.usage.some((item) => item.period !== period) && month.total_records === whole.total_records;
  if (fitsOnePage ? month.total_records !== month.usage.length : isWhole) {
    return wrong(
      `total_records is ${month.total_records} for ${period}, but there are ${fitsOnePage ? month.usage.length : 'fewer'}`,
      'total_records must count the requested records: a run that cannot confirm its count applies nothing',
    );
  }
  return fine('from_period and to_period filter, and total_records counts the requested records');
}

/**
 * `around` has the pages of two windows: the first window starts with the period, the second ends with it. `around` is
 * null if a request for the period alone returned its records, because both bounds are then inclusive.
 */
function judgeBounds(period: string, around: [from: UsagePage, to: UsagePage] | null): ProbeVerdict {
  if (around === null) return fine('from_period and to_period are inclusive');
  const [from, to] = around.map(({ usage }) => usage.some((item) => item.period === period));
  const missingAs = [...(from ? [] : ['from_period']), ...(to ? [] : ['to_period'])];
  return wrong(
    `${period} is missing when it is ${missingAs.length === 0 ? 'both bounds' : missingAs.join(' or ')}`,
    'both bounds must be inclusive: the first and last month of a window would never be read',
  );
}

function judgePageSize({ usage, total_records: records, total_pages: pages }: UsagePage): ProbeVerdict {
  const expected = Math.min(PER_PAGE, records);
  if (pages !== Math.ceil(records / Math.max(1, usage.length))) {
    return wrong(
      `total_pages is ${pages} for ${counted(records, 'record')}, but the first page has ${usage.length}`,
      'every page must hold the same number of records: a run that misses records applies nothing',
    );
  }
  if (usage.length === expected) return fine(`a page has the requested ${expected} records`);
  return doubt(
    `a page has ${usage.length} records; ${PER_PAGE} were requested`,
    'no data is lost, but a run needs more requests; raise requests_per_second if that is too slow',
  );
}

function judgePages(whole: UsagePage, second: UsagePage): ProbeVerdict {
  const [, expected] = whole.usage;
  if (expected === undefined) return fine('there is only one record, on one page');
  if (second.usage.length === 1 && usageKeys(second.usage) === usageKeys([expected])) {
    const same = second.total_records === whole.total_records && second.total_pages === whole.total_records;
    if (same) return fine('pages follow each other without gap or repetition, with the same totals');
    return wrong(
      `with per_page=1, page 2 reports ${second.total_records} records on ${second.total_pages} pages; page 1 with ` +
        `per_page=${PER_PAGE} reports ${whole.total_records} records`,
      'every page must report the same totals: a run whose pages differ applies nothing',
    );
  }
  return wrong(
    `with per_page=1, page 2 has ${second.usage.length === 1 ? 'a record other than the second' : `${second.usage.length} records`}`,
    'the service must apply per_page and page together: a run that misses rows between two pages applies nothing',
  );
}

function judgeBeyond(page: UsagePage | null): ProbeVerdict {
  if (page === null) return fine('a page beyond the last is rejected');
  if (page.usage.length === 0) return fine('a page beyond the last is empty');
  return doubt(
    `a page beyond the last repeats ${counted(page.usage.length, 'record')}`,
    'no action needed: a listing that shrinks while it is read is read again',
  );
}

function judgeHistory(period: string, listed: readonly UsageItem[], history: UsagePage): ProbeVerdict {
  const ownHistory = new Map(history.usage.map((item) => [item.period, item]));
  const [first] = listed;
  const expected = listed.filter((item) => item.tenant_id === first?.tenant_id);
  const missing = expected.find((item) => !ownHistory.has(item.period));
  if (missing !== undefined && history.total_pages <= 1) {
    return wrong(
      `a tenant's history lacks ${missing.period}, which the workspace listing has`,
      'ask the service operator why they differ: a record missing from both is withdrawn',
    );
  }
  const settled = expected.find((item) => item.period === period);
  const same = settled === undefined ? undefined : ownHistory.get(period);
  if (same !== undefined && settled?.credits_used !== same.credits_used) {
    return doubt(
      `a tenant's history has different credits for ${period} than the workspace listing`,
      'the ledger uses the listing; ask the service operator which of the two it bills by',
    );
  }
  return fine("a tenant's history agrees with the workspace listing");
}

function judgeAbsent(page: UsagePage | null): ProbeVerdict {
  if (page === null) return fine('an unknown tenant gets 404');
  if (page.usage.length === 0) return fine('an unknown tenant has an empty history');
  return wrong(
    'an unknown tenant has records',
    'ask the service operator: a record that leaves the listing cannot be confirmed as withdrawn',
  );
}

function usageKeys(items: readonly UsageItem[]): string {
  return JSON.stringify(items.map((item) => [item.tenant_id, item.period]));
}

function fine(message: string): ProbeVerdict {
  return { status: 'ok', message, remedy: null };
}

function doubt(message: string, remedy: string): ProbeVerdict {
  return { status: 'warn', message, remedy };
}

function wrong(message: string, remedy: string): ProbeVerdict {
  return { status: 'fail', message, remedy };
}

const SERVICE_PROBE_TIMEOUT_MS = 10_000;

interface ProbeOptions {
  clock: Clock;
  proxy: Config['proxy'];
  redact: Redactor;
}

interface TrialResponse {
  page: UsagePage;
  latencyMs: number;
  /** This machine's clock minus the service's, in milliseconds; null when the response has no Date header. */
  skewMs: number | null;
}

export interface Trial {
  ask(query: UsagePageQuery): Promise<TrialResponse>;
  /** Returns the id of the key that the service last accepted; null before the first response. */
  keyInUse(): string | null;
  close(): Promise<void>;
}

/**
 * Opens a client with short timeouts and one retry. With the program's usual client, the doctor might have to wait for
 * minutes.
 */
export function openTrial(workspace: WorkspaceConfig, { clock, proxy, redact }: ProbeOptions): Trial {
  const { id, baseUrl, embedUrl, keys, signing, ca } = workspace;
  const client = new UsageApiClient({
    baseUrl,
    embedUrl,
    workspaceId: id,
    keys: () => keys,
    signing,
    concurrency: 1,
    requestTimeoutMs: SERVICE_PROBE_TIMEOUT_MS,
    retries: 1,
    ca,
    proxy,
    redact,
    clock,
  });
  return {
    async ask(query) {
      const startedMs = clock.monotonic();
      const { requestedAtMs, receivedAtMs, serverDateMs, status, contentType, ...answer } =
        await client.fetchUsagePage(query);
      const latencyMs = Math.round(clock.monotonic() - startedMs);
      // The Date header has whole seconds, so the real time of the service is half a second later on average.
      const skewMs = serverDateMs === null ? null : (requestedAtMs + receivedAtMs) / 2 - (serverDateMs + 500);
      const body = Buffer.concat(answer.body);
      const { page = 1, tenantId } = query;
      const where = { page, workspaceId: id, tenantId, status, contentType, redact };
      return { page: parseUsagePage(body, where), latencyMs, skewMs };
    },
    keyInUse: () => client.keyInUse,
    close: () => client.close(),
  };
}
