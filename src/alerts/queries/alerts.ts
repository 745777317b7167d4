import { LARGEST_FIGURE } from '../../core/figure.ts';
import { oncePerKey } from '../../core/one-at-a-time.ts';
import type { AlertState, RuleName } from '../../core/text/alert-words.ts';
import { creditPricers } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import type { financeAlerts } from '../../ledger/store/schema/finance-views.ts';
import type { RowWithBigints } from '../../ledger/store/schema/rows.ts';
import { findWorkspace } from '../../ledger/store/subjects.ts';
import { whereClause } from '../../ledger/store/where.ts';
import { periodPhaseAt } from '../figures/period-phase.ts';
import { creditsAtStake, expectedOf, moneyAtStake, type StakeSides, stakeSides } from '../messages/evidence.ts';
import type { MoneyAtStake } from '../messages/facts/facts.ts';
import { mutedBy } from '../messages/muted.ts';
import { readSilences } from '../pipeline/silence.ts';
import type { FeedbackLabel } from '../state/feedback.ts';
import { NEEDS_ACTION_SQL } from '../state/open-alerts.ts';
import { parseSnapshot } from '../state/rule-snapshot.ts';

/** One row of `finance_alerts`. Tenant and period are null for alerts about a workspace and for system alerts. */
export type AlertRow = RowWithBigints<typeof financeAlerts.$inferSelect>;

export interface AlertFilters {
  /** `open`: alerts that may need action, see `NEEDS_ACTION_SQL`; `all`: alerts in any state. */
  states: readonly AlertState[] | 'open' | 'open or pending' | 'all';
  workspaceId?: string | undefined;
  tenantId?: string | undefined;
  period?: string | undefined;
  rule?: RuleName | undefined;
  severity?: string | undefined;
}

export interface ListedAlert extends AlertRow {
  tenant_name: string | null;
  /** The latest label that a person gave the alert; null without one. */
  feedback: FeedbackLabel | null;
  /** The difference that the alert is about, in credits; see `stakeSides`. Null for system alerts. */
  at_stake_credits: bigint | null;
  /** The price of `at_stake_credits`; null without a rate card for the tenant. */
  at_stake_money: MoneyAtStake | null;
}

/**
 * Creates a function that returns why an alert is muted now; null if it is not. Silences are read again, because one
 * may be newer than the alert's last change.
 */
export function createMutedReason(connection: LedgerDb, nowMs: number): (alert: AlertRow) => string | null {
  const silencesOf = oncePerKey((workspaceId: string | null) => {
    const workspace = workspaceId === null ? undefined : findWorkspace(connection, workspaceId);
    return readSilences(connection, workspace?.workspaceKey ?? null, nowMs);
  });
  return ({
    state,
    muted_because,
    rule,
    cause,
    tenant_id: tenantId,
    workspace_id,
    period,
    current_credits: credits,
  }) => {
    if (state !== 'firing') return muted_because;
    const { silence } = silencesOf(workspace_id)({ rule: rule as RuleName, cause, tenantId, period, credits });
    return silence === null ? muted_because : `silence:${silence.id}`;
  };
}

/**
 * Returns the alerts that match the filters. Critical ones come before warnings; among each, system alerts come first,
 * then those with most credits at stake. An inhibited alert follows the one that inhibits it.
 */
export function findListedAlerts(
  connection: LedgerDb,
  { states, nowMs, ...filters }: AlertFilters & { nowMs: number },
): ListedAlert[] {
  const { where, values } = whereClause({
    'f.state': Array.isArray(states) ? states : undefined,
    'f.workspace_id': filters.workspaceId,
    'f.tenant_id': filters.tenantId,
    'f.period': filters.period,
    'f.rule': filters.rule,
    'f.severity': filters.severity,
  });
  const open = { open: NEEDS_ACTION_SQL, 'open or pending': `(${NEEDS_ACTION_SQL} OR a.state = 'pending')` };
  const own = states === 'open' || states === 'open or pending' ? open[states] : '1';
  const rows = connection
    .prepare(
      `SELECT f.*,
         (SELECT r.finished_at FROM runs r WHERE r.workspace_key = a.workspace_key AND r.status = 'applied'
          ORDER BY r.run_key DESC LIMIT 1) AS read_at, a.basis,
         (SELECT b.label FROM alert_feedback b WHERE b.alert_key = a.alert_key ORDER BY b.feedback_key DESC LIMIT 1) AS feedback,
         (SELECT n.display_name FROM tenant_names n WHERE n.tenant_key = a.tenant_key
          ORDER BY n.after_seq DESC LIMIT 1) AS tenant_name
       FROM finance_alerts f JOIN alerts a USING (alert_id) ${where === '' ? 'WHERE' : `${where} AND`} ${own}`,
    )
    .safeIntegers()
    .all(...values) as (AlertRow & StoredFacts)[];
  const pricerOf = creditPricers(connection);
  const mutedNow = createMutedReason(connection, nowMs);
  const alerts = rows
    .map(({ read_at, basis, ...row }): ListedAlert => {
      const { workspace_id, tenant_id, period } = row;
      const sides = sidesOf(row, { read_at, basis });
      return {
        ...row,
        muted_because: mutedNow(row),
        at_stake_credits: sides === null ? null : creditsAtStake(sides),
        at_stake_money:
          sides === null || workspace_id === null || tenant_id === null || period === null
            ? null
            : moneyAtStake(sides, (credits) => pricerOf(workspace_id)(tenant_id, period, credits)),
      };
    })
    .sort(compareAlerts);
  const listed = new Set(alerts.map(({ alert_id }) => alert_id));
  const explainedBy = Map.groupBy(alerts, (alert) => inhibitorOf(alert, listed));
  const withExplained = (alert: ListedAlert): ListedAlert[] => [
    alert,
    ...(explainedBy.get(alert.alert_id) ?? []).flatMap(withExplained),
  ];
  return (explainedBy.get(null) ?? []).flatMap(withExplained);
}

/** Returns the id of the listed alert that inhibits this one; null if there is none. */
function inhibitorOf({ muted_because }: AlertRow, listed: ReadonlySet<string>): string | null {
  const by = mutedBy(muted_because);
  return by?.how === 'inhibited' && listed.has(by.id) ? by.id : null;
}

/** Facts that `finance_alerts` lacks: when the workspace was last read, the rule's snapshot, the tenant's name, the label. */
interface StoredFacts extends Pick<ListedAlert, 'tenant_name' | 'feedback'> {
  read_at: string | null;
  basis: string | null;
}

function sidesOf(row: AlertRow, { read_at: readAt, basis }: Pick<StoredFacts, 'read_at' | 'basis'>): StakeSides | null {
  const { previous_credits: previous, current_credits: current, threshold } = row;
  if (current === null) return null;
  const phase = row.period === null || readAt === null ? null : periodPhaseAt(row.period, Date.parse(readAt));
  const projected = expectedOf({ phase, forecast: parseSnapshot(basis).forecast });
  return stakeSides(row.rule as RuleName, {
    previous: previous ?? 0n,
    current,
    threshold,
    projected,
  });
}

/** Returns the number to sort alerts by. That of a system alert is above that of any alert about usage. */
function stakeSizeOf({ period, at_stake_credits: credits }: ListedAlert): bigint {
  return period === null ? LARGEST_FIGURE + 1n : (credits ?? 0n);
}

/** Compares two alerts for sorting. `critical` sorts before `warning`, alphabetically too. */
function compareAlerts(a: ListedAlert, b: ListedAlert): number {
  const [stakeA, stakeB] = [stakeSizeOf(a), stakeSizeOf(b)];
  if (a.severity !== b.severity) return a.severity < b.severity ? -1 : 1;
  if (stakeA !== stakeB) return stakeA > stakeB ? -1 : 1;
  return a.alert_id < b.alert_id ? -1 : 1;
}
