import { z } from 'zod';
import { pauseEvery } from '../../core/clock.ts';
import { formatMinor } from '../../core/money.ts';
import { addPeriods, type Period, periodAt } from '../../core/period.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import {
  latestMonths,
  monthReader,
  type WorkspaceMonthTotals,
  workspaceForecasts,
} from '../../reports/queries/month-totals.ts';
import { documentOperation } from '../operation.ts';
import { decimalText, periodText } from '../schemas.ts';

const DEFAULT_MONTHS = 12;
const MAX_MONTHS = 36;
/** While the months of workspaces are added up, other work can run after each interval of this many milliseconds. */
const TURN_MS = 5;

const money = z.strictObject({ amount: decimalText, amount_minor: z.bigint(), currency: z.string() });

const monthShape = {
  period: z.string(),
  workspaces: z.int().describe('workspaces that have the month'),
  closed: z.int().describe('workspaces that have closed the month'),
  tenants: z.int(),
  credits_used: z.bigint(),
  request_count: z.bigint(),
  amounts: z
    .array(money)
    .describe('charges, corrections and manual lines; an estimate for workspaces that are not closed'),
};

const month = z.strictObject(monthShape);
export type MonthSummary = z.output<typeof month>;

export const listMonths = documentOperation({
  name: 'months.list',
  summary: 'List months with the totals of all workspaces, the latest first',
  details:
    'Use it for trends over several months: workspaces, tenants, credits and amounts of each month. months_plan has the blockers of one month.',
  role: 'read',
  input: z.strictObject({
    until: periodText.optional().describe('the latest month; the current one unless given'),
    months: z.int().min(1).max(MAX_MONTHS).optional().describe(`the number of months, ${DEFAULT_MONTHS} unless given`),
  }),
  output: z.strictObject({ months: z.array(month) }),
  http: { method: 'GET', path: '/months' },
  command: null,
  async run({ connection, context }, { until = periodAt(context.clock.now()), months = DEFAULT_MONTHS }) {
    const found: MonthSummary[] = [];
    const totalsOf = monthReader(connection);
    for (const period of latestMonths(connection, until, months)) found.push(await readMonth(totalsOf(period), period));
    return { months: found };
  },
});

const side = z.strictObject(monthShape).nullable();

export const compareMonths = documentOperation({
  name: 'months.compare',
  summary: 'Compare the current month, to date and by forecast, with the previous one',
  details: 'Shows how this month is going: its credits to date, its forecast and the previous month.',
  role: 'read',
  input: z.strictObject({ period: periodText.optional().describe('the month; the current one unless given') }),
  output: z.strictObject({
    period: z.string(),
    as_of: z.string().nullable().describe('when the workspace that was read least recently was last read completely'),
    current: side.describe('null if no workspace has the month'),
    previous: side,
    forecast: z
      .strictObject({ credits_used: z.bigint(), amounts: z.array(money) })
      .nullable()
      .describe(
        'a straight-line forecast for the end of the month; null before a day of it was read, and after its end',
      ),
  }),
  http: { method: 'GET', path: '/months/comparison' },
  command: null,
  async run({ connection, context }, { period = periodAt(context.clock.now()) }) {
    const readings: (string | null)[] = [];
    const totalsOf = monthReader(connection);
    const current = await readMonth(totalsOf(period), period, ({ asOf }) => readings.push(asOf));
    const before = addPeriods(period, -1);
    const previous = await readMonth(totalsOf(before), before);
    return {
      period,
      as_of: readings.some((at) => at === null) ? null : (readings.sort()[0] ?? null),
      current: current.workspaces === 0 ? null : current,
      previous: previous.workspaces === 0 ? null : previous,
      forecast: await readForecast(connection, period),
    };
  },
});

/** Adds up a month over all workspaces. Pauses regularly, so that other work can run. */
async function readMonth(
  months: Iterable<WorkspaceMonthTotals>,
  period: Period,
  onWorkspace: (totals: WorkspaceMonthTotals) => unknown = () => undefined,
): Promise<MonthSummary> {
  const sums = new Sums();
  let [workspaces, closed, tenants] = [0, 0, 0];
  let requests = 0n;
  const pause = pauseEvery(TURN_MS);
  for (const totals of months) {
    onWorkspace(totals);
    workspaces += 1;
    closed += totals.closed ? 1 : 0;
    tenants += totals.tenants;
    requests += totals.requestCount;
    sums.add(totals.creditsUsed, totals.money);
    await pause();
  }
  const { credits_used, amounts } = sums.document;
  return { period, workspaces, closed, tenants, credits_used, request_count: requests, amounts };
}

async function readForecast(connection: LedgerDb, period: Period): Promise<ReturnType<() => Sums['document']> | null> {
  const sums = new Sums();
  let isKnown = false;
  const pause = pauseEvery(TURN_MS);
  for (const forecast of workspaceForecasts(connection, period)) {
    if (forecast !== null) {
      isKnown = true;
      sums.add(forecast.credits, forecast.money);
    }
    await pause();
  }
  return isKnown ? sums.document : null;
}

/** Adds up credits, and adds up amounts of money separately for each currency. */
class Sums {
  #credits = 0n;
  readonly #minor = new Map<string, bigint>();

  add(credits: bigint, money: readonly { currency: string; amountMinor: bigint }[]): void {
    this.#credits += credits;
    for (const { currency, amountMinor } of money) {
      this.#minor.set(currency, (this.#minor.get(currency) ?? 0n) + amountMinor);
    }
  }

  get document() {
    const amounts = [...this.#minor].sort().map(([currency, minor]) => {
      return { amount: formatMinor(minor, currency), amount_minor: minor, currency };
    });
    return { credits_used: this.#credits, amounts };
  }
}
