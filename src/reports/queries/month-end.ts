import { isoTime } from '../../core/clock.ts';
import { HOUR_MS } from '../../core/durations.ts';
import { formatMinor } from '../../core/money.ts';
import { type Period, periodEndMs } from '../../core/period.ts';
import { shellQuote } from '../../core/text/words.ts';
import type { FileReport } from '../../ledger/audit/verify/verify.ts';
import { findCloseStanding, type MaxChange } from '../../ledger/journal/close/close-standing.ts';
import { findRetirement } from '../../ledger/journal/retired-workspaces.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { preparedSql } from '../../ledger/store/schema/drizzle.ts';
import { periodKeyOf } from '../../ledger/store/schema/keys.ts';
import { findPeriod, findWorkspace } from '../../ledger/store/subjects.ts';
import { correctionsAndLinesSql, type MonthTotals, monthTotals } from '../../ledger/store/sum-money.ts';
import { sumUsage } from '../../ledger/store/sum-usage.ts';
import { keptByMonth, monthStates } from './kept-months.ts';
import { type ChangedAmount, explainChange, largestChanges } from './month-changes.ts';
import type { Blocker, MonthEnd, MonthEndWorkspace } from './month-end-record.ts';

/** At most this many changes are shown per currency. */
const MAX_CHANGES = 5;
/** At most this many tenant ids are shown in a list, such as the tenants without a price. */
const MAX_LISTED_NAMES = 20;

export interface MonthEndRequest {
  period: Period;
  workspaces: readonly MonthEndSubject[];
  maxChange: MaxChange | null;
  /** The result of `verify` for the same state of the ledger; null if the ledger was not verified. */
  verified: Pick<FileReport, 'headDigest' | 'faults'> | null;
  nowMs: number;
}

/**
 * A workspace whose month is to be closed. `settleHours` is the number of hours to wait after the month's end. It is
 * null if the ledger has the workspace but the configuration does not.
 */
export interface MonthEndSubject {
  id: string;
  settleHours: number | null;
}

/** Reads the month-end report of all workspaces. The caller must hold a read transaction. */
export function readMonthEnd(connection: LedgerDb, request: MonthEndRequest): MonthEnd {
  return monthEndOf(connection, request, [...monthEndParts(connection, request)]);
}

/** One workspace's part of the month-end report. */
export interface MonthEndPart {
  record: MonthEndWorkspace;
  money: readonly MonthTotals[];
  changes: readonly ChangedAmount[];
}

/**
 * Reads one workspace after the other. The caller may pause between two workspaces. Then each workspace is reported in
 * the state that it has at the time when it is read.
 */
export function* monthEndParts(connection: LedgerDb, request: MonthEndRequest): Generator<MonthEndPart> {
  const stateOf = monthStates(connection);
  for (const subject of request.workspaces) {
    yield connection.transaction(() => readWorkspace(connection, subject, request, stateOf))();
  }
}

export function monthEndOf(
  connection: LedgerDb,
  { period, verified, nowMs }: MonthEndRequest,
  read: readonly MonthEndPart[],
): MonthEnd {
  const faults = verified?.faults.length ?? null;
  return {
    period,
    at: isoTime(nowMs),
    ready: (faults ?? 0) === 0 && read.every(({ record }) => record.state !== 'blocked'),
    sound: faults === null ? null : faults === 0,
    faults: faults ?? 0,
    head_digest: verified === null ? headOfChain(connection).digest : verified.headDigest,
    workspaces: read.map(({ record }) => record),
    money: moneyTotals(
      connection,
      read.flatMap(({ money }) => money),
      read.flatMap(({ changes }) => changes),
    ),
  };
}

/** The figures of a workspace's month that depend only on the data of that month and of the previous month. */
type MonthFigures = Pick<MonthEndWorkspace, 'tenants' | 'credits_used' | 'unnamed' | 'unpriced' | 'corrections'> &
  Pick<MonthEndPart, 'money' | 'changes'>;

const keptFigures = keptByMonth<MonthFigures>();

function readFigures(connection: LedgerDb, periodKey: number, closedSeq: number | null): MonthFigures {
  const usage = sumUsage(connection, periodKey, closedSeq === null ? 'now' : 'closed');
  return {
    tenants: usage.tenants,
    credits_used: usage.creditsUsed,
    unnamed: tenantsWithout(connection, UNNAMED, { periodKey, closedSeq }),
    unpriced: tenantsWithout(connection, UNPRICED, { periodKey, closedSeq }),
    corrections: sumCorrections(connection, periodKey),
    money: monthTotals(connection, periodKey),
    changes: largestChanges(connection, periodKey, MAX_CHANGES),
  };
}

function readWorkspace(
  connection: LedgerDb,
  { id, settleHours }: MonthEndSubject,
  { period, maxChange, nowMs }: MonthEndRequest,
  stateOf: ReturnType<typeof monthStates>,
): MonthEndPart {
  const terms = { workspaceId: id, period, settleHours: settleHours ?? 0, maxChange, nowMs };
  const standing = findCloseStanding(connection, terms);
  const workspaceKey = findWorkspace(connection, id)?.workspaceKey;
  const periodKey = workspaceKey === undefined ? 0 : periodKeyOf(workspaceKey, period);
  const closedSeq = findPeriod(connection, periodKey)?.closedSeq ?? null;
  const previousSeq = findPeriod(connection, periodKey - 1)?.closedSeq ?? null;
  const month = { workspaceKey: workspaceKey ?? 0, periodKey };
  const figures = keptFigures(connection, periodKey, {
    state: [closedSeq, previousSeq].map((seq) => stateOf({ ...month, closedSeq: seq })).join(', '),
    read: () => readFigures(connection, periodKey, closedSeq),
  });
  const { money, changes, ...shown } = figures;
  const blockers: Blocker[] = [];
  const block = (kind: Blocker['kind'], reason: string): void => {
    blockers.push({ kind, reason, command: commandFor(kind, id, period) });
  };
  if (standing.state !== 'closed') {
    const end = workspaceKey === undefined ? null : findRetirement(connection, workspaceKey);
    if (settleHours === null) block('not_configured', 'in the ledger, but not in the configuration');
    else if (end !== null) block('ended', `ended at ${end.at} by ${end.actor}`);
    else if (standing.state === 'unknown') block('unknown', 'no data for the month');
    else for (const { kind, reason } of standing.blockers) block(kind, reason);
  }
  const state = standing.state === 'closed' ? 'closed' : blockers.length === 0 ? 'ready' : 'blocked';
  const record: MonthEndWorkspace = {
    workspace_id: id,
    state,
    reconciled: reconciledSince(connection, closedSeq),
    read_at: standing.readAt,
    unchanged_since: standing.unchangedSince,
    settled: nowMs >= periodEndMs(period) + (settleHours ?? 0) * HOUR_MS,
    ...shown,
    amounts: money.map(({ currency, now, before }) => ({
      currency,
      amount: formatMinor(now, currency),
      previous_amount: formatMinor(before, currency),
    })),
    blockers,
  };
  return { record, money, changes };
}

const selectMatched = preparedSql(
  'SELECT missing + extra + different = 0 FROM reconciliations WHERE close_seq = ? ORDER BY act_seq DESC LIMIT 1',
  'pluck',
);

function reconciledSince(connection: LedgerDb, closedSeq: number | null): MonthEndWorkspace['reconciled'] {
  const matched = selectMatched(connection).get(closedSeq) as number | undefined;
  return matched === undefined ? 'no' : matched === 1 ? 'yes' : 'differences';
}

/** A subquery for the tenants of a period. For a closed period, it selects the tenants that the close recorded. */
const TENANTS_SQL = `SELECT u.tenant_key FROM tenant_usage u
    WHERE u.period_key = :periodKey AND u.withdrawn = 0 AND :closedSeq IS NULL
  UNION ALL SELECT z.tenant_key FROM closed_usage z
    WHERE z.period_key = :periodKey AND z.withdrawn = 0 AND :closedSeq IS NOT NULL`;
const UNNAMED = tenantsOf(`SELECT tenant_key FROM (${TENANTS_SQL}) y WHERE NOT EXISTS (SELECT 1 FROM tenant_names n
  WHERE n.tenant_key = y.tenant_key AND (n.display_name IS NOT NULL OR n.external_ref IS NOT NULL)
    AND n.after_seq = (SELECT max(m.after_seq) FROM tenant_names m
      WHERE m.tenant_key = y.tenant_key AND m.after_seq < coalesce(:closedSeq, 9e18)))`);
const UNPRICED = tenantsOf(`SELECT tenant_key FROM (${TENANTS_SQL}) y WHERE NOT EXISTS (SELECT 1 FROM charges c
    WHERE c.period_key = :periodKey AND c.tenant_key = y.tenant_key AND c.amount_minor IS NOT NULL)
  UNION SELECT tenant_key FROM charge_corrections WHERE booked_period_key = :periodKey AND amount_minor IS NULL`);

/** Prepares two statements about the tenants whose keys a query selects: their number, and the first ids. */
function tenantsOf(keys: string) {
  return {
    count: preparedSql(`SELECT count(*) FROM (${keys})`, 'pluck'),
    first: preparedSql(
      `SELECT t.tenant_id FROM (${keys}) JOIN tenants t USING (tenant_key) ORDER BY t.tenant_id LIMIT ${MAX_LISTED_NAMES}`,
      'pluck',
    ),
  };
}

function tenantsWithout(
  connection: LedgerDb,
  tenants: ReturnType<typeof tenantsOf>,
  place: { periodKey: number; closedSeq: number | null },
): { count: number; first: string[] } {
  const count = tenants.count(connection).get(place) as number;
  return { count, first: count === 0 ? [] : (tenants.first(connection).all(place) as string[]) };
}

const selectCorrected = preparedSql(
  'SELECT count(DISTINCT tenant_key) FROM charge_corrections WHERE booked_period_key = ?',
  'pluck',
);
const selectCorrections = preparedSql(
  `SELECT currency, sum(amount_minor) AS minor FROM (${correctionsAndLinesSql(':periodKey')})
   WHERE kind = 'correction' AND amount_minor IS NOT NULL GROUP BY currency ORDER BY currency`,
  'safeIntegers',
);

function sumCorrections(connection: LedgerDb, periodKey: number): MonthEndWorkspace['corrections'] {
  const tenants = selectCorrected(connection).get(periodKey) as number;
  const sums = selectCorrections(connection).all({ periodKey }) as { currency: string; minor: bigint }[];
  return { tenants, amounts: sums.map(({ currency, minor }) => ({ currency, amount: formatMinor(minor, currency) })) };
}

/** Returns the command that removes a blocker; null if only waiting helps. */
function commandFor(kind: Blocker['kind'], id: string, period: Period): string | null {
  const word = shellQuote(id);
  const workspace = workspaceOption(id);
  const commands: Readonly<Record<Blocker['kind'], string | null>> = {
    not_over: null,
    settling: null,
    unread: `sync ${workspace} --from ${period}`,
    unproven: `sync ${workspace} --from ${period}`,
    missing: `sync ${workspace} --from ${period}`,
    unknown: `sync ${workspace} --from ${period}`,
    change: `close ${period} --all --accept-change ${word} --note TEXT`,
    ended: `workspace resume ${word} --note TEXT`,
    not_configured: `workspace end ${word} --note TEXT`,
  };
  const command = commands[kind];
  return command === null ? null : `usage-ledger ${command}`;
}

/**
 * Formats the option `--workspace` for a command line. If the id begins with a hyphen, `=` keeps the id from being read
 * as an option.
 */
export function workspaceOption(id: string): string {
  return `--workspace${id.startsWith('-') ? '=' : ' '}${shellQuote(id)}`;
}

function moneyTotals(
  connection: LedgerDb,
  all: readonly MonthTotals[],
  changes: readonly ChangedAmount[],
): MonthEnd['money'] {
  const currencies = [...new Set(all.map(({ currency }) => currency))].sort();
  return currencies.map((currency) => {
    const own = all.filter((money) => money.currency === currency);
    const now = own.reduce((sum, money) => sum + money.now, 0n);
    const before = own.reduce((sum, money) => sum + money.before, 0n);
    const largest = changes
      .filter((change) => change.currency === currency)
      .sort(bySize)
      .slice(0, MAX_CHANGES)
      .map((change) => explainChange(connection, change));
    return {
      currency,
      amount: formatMinor(now, currency),
      previous_amount: formatMinor(before, currency),
      change: formatMinor(now - before, currency),
      change_percent: changePercent(now - before, before),
      largest: largest.map((change) => ({
        workspace_id: change.workspaceId,
        tenant_id: change.tenantId,
        amount: formatMinor(change.amountMinor, currency),
        previous_amount: formatMinor(change.previousMinor, currency),
        credits_used: change.credits,
        previous_credits: change.previousCredits,
        reasons: change.reasons,
      })),
    };
  });
}

function bySize(a: ChangedAmount, b: ChangedAmount): number {
  const [left, right] = [a, b].map(({ amountMinor, previousMinor }) => absolute(amountMinor - previousMinor));
  return left === right ? 0 : (left ?? 0n) > (right ?? 0n) ? -1 : 1;
}

/** Returns the change in percent, rounded to a tenth, or null if the base is 0. */
function changePercent(change: bigint, of: bigint): number | null {
  return of === 0n ? null : Math.round((Number(change) / Number(absolute(of))) * 1000) / 10;
}

function absolute(minor: bigint): bigint {
  return minor < 0n ? -minor : minor;
}
