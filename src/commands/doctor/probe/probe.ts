import { AppError, summarizeError } from '../../../core/errors.ts';
import { addPeriods } from '../../../core/period.ts';
import type { UsagePage } from '../../../usage-api/answers/check-page.ts';
import type { UsagePageQuery } from '../../../usage-api/client.ts';
import { type Finding, warn } from '../finding.ts';
import {
  judgeAbsent,
  judgeBeyond,
  judgeBounds,
  judgeFigures,
  judgeFilter,
  judgeHistory,
  judgeOrder,
  judgePageSize,
  judgePages,
  PER_PAGE,
  type Verdict,
  wrong,
} from './assumptions.ts';
import type { Trial } from './trial.ts';

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

/** Null for what is answered with an error of one of these codes. */
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
