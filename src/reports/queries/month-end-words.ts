import type { Period } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted, firstOf } from '../../core/text/words.ts';
import { formatDecimal, formatInteger } from '../formats/columns.ts';
import { workspaceOption } from './month-end.ts';
import type { Blocker, MonthEnd, MonthEndChange, MonthEndWorkspace } from './month-end-record.ts';

const STATE_WORDS: Readonly<Record<Blocker['kind'] | 'closed' | 'ready', string>> = {
  closed: 'closed',
  ready: 'ready',
  not_over: 'not over',
  settling: 'settling',
  unread: 'not read',
  unproven: 'read once',
  missing: 'incomplete',
  change: 'large change',
  unknown: 'no record',
  ended: 'ended',
  not_configured: 'unconfigured',
};

export function formatWorkspaceState({ state, blockers, reconciled }: MonthEndWorkspace): string {
  if (reconciled !== 'no') return reconciled === 'yes' ? 'reconciled' : 'invoices differ';
  return STATE_WORDS[state === 'blocked' ? (blockers[0]?.kind ?? 'unknown') : state];
}

export function formatReadiness({ workspaces }: MonthEnd): string {
  const count = (wanted: MonthEndWorkspace['state']) => workspaces.filter(({ state }) => state === wanted).length;
  const parts = [
    `${formatInteger(count('ready'))} of ${counted(workspaces.length, 'workspace')} can be closed`,
    count('closed') === 0 ? '' : `${formatInteger(count('closed'))} already closed`,
    count('blocked') === 0 ? '' : `${formatInteger(count('blocked'))} blocked`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

export function formatLedgerState({ sound, faults }: MonthEnd): string {
  return sound ? 'ledger verified' : `ledger NOT verified: ${counted(faults, 'fault')}`;
}

/** Formats a total: `112.05 EUR, up from 30.00 in the previous month (+82.05, +273.5%)`. */
export function formatMonthMoney(money: MonthEnd['money'][number]): string {
  return `${formatDecimal(money.amount)} ${money.currency}, ${formatMonthDifference(money)}`;
}

/** Compares a total with the previous month: `up from 30.00 in the previous month (+82.05, +273.5%)`. */
export function formatMonthDifference(money: MonthEnd['money'][number]): string {
  const { amount, previous_amount, change, change_percent: percent } = money;
  const signed = (text: string) => (/^-|^0+(\.0+)?$/.test(text) ? text : `+${text}`);
  const by = [signed(formatDecimal(change)), ...(percent === null ? [] : [`${signed(String(percent))}%`])].join(', ');
  return `${formatDirection(amount, previous_amount)} in the previous month (${by})`;
}

/** Formats a change: `acme (ws-1): 90.00, up from 10.00: 9,000 credits (previously 1,000)`. */
export function formatMonthChange(change: MonthEndChange): string {
  const { workspace_id, tenant_id, amount, previous_amount } = change;
  const tenant = `${inertText(tenant_id)} (${inertText(workspace_id)})`;
  return `${tenant}: ${formatDecimal(amount)}, ${formatDirection(amount, previous_amount)}: ${formatChangeReasons(change)}`;
}

/** Lists why an amount changed: `9,000 credits (previously 1,000), different rate card`. */
export function formatChangeReasons({ reasons, credits_used, previous_credits }: MonthEndChange): string {
  const words: Readonly<Record<(typeof reasons)[number], string>> = {
    new: 'new',
    gone: 'no usage',
    usage: `${formatInteger(credits_used)} credits (previously ${formatInteger(previous_credits)})`,
    card: 'different rate card',
    corrections: 'corrections of earlier months',
    lines: 'different manual lines',
    requests: 'different requests',
  };
  return reasons.map((reason) => words[reason]).join(', ');
}

/** Compares two amounts of one currency: `up from 30.00`. Both amounts must have the same number of decimal places. */
function formatDirection(amount: string, previous: string): string {
  const [now, before] = [amount, previous].map((text) => BigInt(text.replace('.', ''))) as [bigint, bigint];
  const direction = now > before ? 'up from' : now < before ? 'down from' : 'same as';
  return `${direction} ${formatDecimal(previous)}`;
}

/**
 * Lists what is worth checking in a workspace before the close but does not block it: tenants without a name or a
 * price.
 */
export function findNotices(
  { workspace_id: id, unnamed, unpriced, tenants, state }: MonthEndWorkspace,
  period: Period,
): { words: string; command: string }[] {
  const option = workspaceOption(id);
  const of = (lacking: typeof unnamed) => firstOf(lacking.first.map(inertText), 5, lacking.count);
  const notices: { words: string; command: string }[] = [];
  if (state === 'closed') return notices;
  if (unnamed.count > 0) {
    const words = `${inertText(id)}: ${formatInteger(unnamed.count)} of ${counted(tenants, 'tenant')} without a name or reference: ${of(unnamed)}`;
    notices.push({ words, command: `usage-ledger tenants import FILE ${option}` });
  }
  if (unpriced.count > 0) {
    const words = `${inertText(id)}: ${counted(unpriced.count, 'tenant')} without a price: ${of(unpriced)}`;
    notices.push({ words, command: `usage-ledger statement ${period} ${option}` });
  }
  return notices;
}
