import type { Config, WorkspaceConfig } from '../../../config/types.ts';
import type { Clock } from '../../../core/clock.ts';
import { AppError, summarizeError } from '../../../core/errors.ts';
import { addPeriods } from '../../../core/period.ts';
import type { Redactor } from '../../../core/text/redact.ts';
import { counted } from '../../../core/text/words.ts';
import { parseUsagePage, type UsageItem, type UsagePage } from '../../../usage-api/answers/check-page.ts';
import { UsageApiClient, type UsagePageQuery } from '../../../usage-api/client.ts';
import { type Finding, warn } from '../finding.ts';

/** Nobody is called so. */
const NO_SUCH_TENANT = 'usage-ledger-probe-no-such-tenant';

/**
 * Tries on the service what the interface leaves open and the program takes for granted, by some ten reading requests, one
 * after the other. A service without records cannot be tried.
 */
export async function probeService(workspaceId: string, trial: Trial): Promise<Finding[]> {
  const ask = async (query: UsagePageQuery): Promise<UsagePage> =>
    (await trial.ask({ page: 1, perPage: PER_PAGE, ...query })).page;
  let whole: UsagePage;
  try {
    whole = await ask({});
  } catch (error) {
    return [{ check: 'probe', subject: workspaceId, ...untried(error) }];
  }
  const [first] = whole.usage;
  if (first === undefined) {
    const message = 'the service has no records yet: nothing could be tried';
    return [warn('probe', message, 'run it again once there are some', workspaceId)];
  }
  // A month that is over stands still.
  const period = whole.usage.map((item) => item.period).reduce((a, b) => (b < a ? b : a));
  const between = (from: number, to: number): Promise<UsagePage> =>
    ask({ fromPeriod: addPeriods(period, from), toPeriod: addPeriods(period, to) });
  const trials: [assumption: string, judge: () => Verdict | Promise<Verdict>][] = [
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
  const findings: Finding[] = [];
  for (const [assumption, judge] of trials) {
    findings.push({ check: `probe ${assumption}`, subject: workspaceId, ...(await judgedOr(judge)) });
  }
  return findings;
}

async function unless(codes: readonly string[], asked: Promise<UsagePage>): Promise<UsagePage | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof AppError && codes.includes(error.code)) return null;
    throw error;
  }
}

async function judgedOr(judge: () => Verdict | Promise<Verdict>): Promise<Verdict> {
  try {
    return await judge();
  } catch (error) {
    return untried(error);
  }
}

function untried(error: unknown): Verdict {
  const { message, hint } = summarizeError(error);
  return wrong(`could not be tried: ${message}`, hint ?? 'ask the service');
}

/** The most records that a page may be asked for. */
const PER_PAGE = 100;

type Verdict = Omit<Finding, 'check' | 'subject'>;

function judgeFigures(items: readonly UsageItem[]): Verdict {
  const large = items.filter((item) => typeof item.credits_used === 'bigint' || typeof item.request_count === 'bigint');
  const some = large.length === 0 ? '' : `; ${counted(large.length, 'record')} beyond 2^53, read exactly`;
  return fine(`the figures of ${counted(items.length, 'record')} are whole numbers${some}`);
}

function judgeOrder({ usage }: UsagePage, again: UsagePage): Verdict {
  if (keysOf(usage) === keysOf(again.usage)) return fine('the same question brings the same rows in the same order');
  return doubt(
    'the same question brings other rows, or another order',
    'ask the service for a fixed order: a listing of several pages whose rows move is read up to three times, and ' +
      'applies nothing when they move each time',
  );
}

function judgeFilter(period: string, month: UsagePage, whole: UsagePage): Verdict {
  const outsider = month.usage.find((item) => item.period !== period);
  if (outsider !== undefined) {
    return wrong(
      `asked for ${period}, it gives ${outsider.period}, too`,
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
function judgeBounds(period: string, around: [from: UsagePage, to: UsagePage] | null): Verdict {
  if (around === null) return fine('from_period and to_period are included in what they bound');
  const [from, to] = around.map(({ usage }) => usage.some((item) => item.period === period));
  const left = [...(from ? [] : ['from_period']), ...(to ? [] : ['to_period'])];
  return wrong(
    `${period} is missing where it is ${left.length === 0 ? 'both bounds' : left.join(' and where it is ')}`,
    'both have to be included: the months at the ends of a window would never be read',
  );
}

function judgePageSize({ usage, total_records: records, total_pages: pages }: UsagePage): Verdict {
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

function judgePages(whole: UsagePage, second: UsagePage): Verdict {
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

function judgeBeyond(page: UsagePage | null): Verdict {
  if (page === null) return fine('a page beyond the last is refused');
  if (page.usage.length === 0) return fine('a page beyond the last is empty');
  return doubt(
    `a page beyond the last repeats ${counted(page.usage.length, 'record')}`,
    'nothing to do: a listing that becomes shorter while it is read is read again instead of ending',
  );
}

function judgeHistory(period: string, listed: readonly UsageItem[], history: UsagePage): Verdict {
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

function judgeAbsent(page: UsagePage | null): Verdict {
  if (page === null) return fine('a tenant that is not there is answered with 404');
  if (page.usage.length === 0) return fine('a tenant that is not there has an empty history');
  return wrong(
    'a tenant that is not there is given records',
    'ask the service: nothing that leaves the listing can be confirmed as withdrawn',
  );
}

function keysOf(items: readonly UsageItem[]): string {
  return JSON.stringify(items.map((item) => [item.tenant_id, item.period]));
}

function fine(message: string): Verdict {
  return { status: 'ok', message, remedy: null };
}

function doubt(message: string, remedy: string): Verdict {
  return { status: 'warn', message, remedy };
}

function wrong(message: string, remedy: string): Verdict {
  return { status: 'fail', message, remedy };
}

const REQUEST_TIMEOUT_MS = 10_000;

interface TrialOptions {
  clock: Clock;
  proxy: Config['proxy'];
  redact: Redactor;
}

interface Asked {
  page: UsagePage;
  latencyMs: number;
  /** Our clock minus the service's; null when it sends none. */
  skewMs: number | null;
}

export interface Trial {
  ask(query: UsagePageQuery): Promise<Asked>;
  /** The id of the key that the service took last; null before. */
  keyInUse(): string | null;
  close(): Promise<void>;
}

/** Not the context's client: its patience would make a doctor who says nothing for minutes. */
export function openTrial(workspace: WorkspaceConfig, { clock, proxy, redact }: TrialOptions): Trial {
  const { id, baseUrl, embedUrl, keys, signing, ca } = workspace;
  const client = new UsageApiClient({
    baseUrl,
    embedUrl,
    workspaceId: id,
    keys: () => keys,
    signing,
    concurrency: 1,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    retries: 1,
    ca,
    proxy,
    redact,
    clock,
  });
  return {
    async ask(query) {
      const asked = clock.monotonic();
      const { requestedAtMs, receivedAtMs, serverDateMs, status, contentType, ...answer } =
        await client.fetchUsagePage(query);
      const latencyMs = Math.round(clock.monotonic() - asked);
      // The Date header has whole seconds: the service's clock was half a second further on average.
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
