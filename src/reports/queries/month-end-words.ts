import type { Period } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted, firstOf } from '../../core/text/words.ts';
import { formatDecimal, formatInteger } from '../formats/columns.ts';
import { workspaceOption } from './month-end.ts';
import type { Blocker, MonthEnd, MonthEndChange, MonthEndWorkspace } from './month-end-record.ts';

const STATES: Readonly<Record<Blocker['kind'] | 'closed' | 'ready', string>> = {
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

export function stateWords({ state, blockers, reconciled }: MonthEndWorkspace): string {
  if (reconciled !== 'no') return reconciled === 'yes' ? 'reconciled' : 'invoices differ';
  return STATES[state === 'blocked' ? (blockers[0]?.kind ?? 'unknown') : state];
}

export function readyWords({ workspaces }: MonthEnd): string {
  const count = (wanted: MonthEndWorkspace['state']) => workspaces.filter(({ state }) => state === wanted).length;
  const parts = [
    `${formatInteger(count('ready'))} of ${counted(workspaces.length, 'workspace')} can be closed`,
    count('closed') === 0 ? '' : `${formatInteger(count('closed'))} closed already`,
    count('blocked') === 0 ? '' : `${formatInteger(count('blocked'))} cannot`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

export function soundWords({ sound, faults }: MonthEnd): string {
  return sound ? 'the ledger is sound' : `the ledger is NOT sound: ${counted(faults, 'fault')}`;
}

/** Such as `112.05 EUR after 30.00 the month before (+82.05, +273.5 %)`. */
export function moneyWords(money: MonthEnd['money'][number]): string {
  const { amount, previous_amount, currency, change, change_percent: percent } = money;
  const signed = (text: string) => (/^-|^0+(\.0+)?$/.test(text) ? text : `+${text}`);
  const by = [signed(formatDecimal(change)), ...(percent === null ? [] : [`${signed(String(percent))}%`])].join(', ');
  return `${formatDecimal(amount)} ${currency} after ${formatDecimal(previous_amount)} the month before (${by})`;
}

/** Such as `acme of ws-1: 90.00 after 10.00: 9,000 credits after 1,000`. */
export function changeWords(change: MonthEndChange): string {
  const { workspace_id, tenant_id, amount, previous_amount, reasons, credits_used, previous_credits } = change;
  const words: Readonly<Record<(typeof reasons)[number], string>> = {
    new: 'new',
    gone: 'no usage any more',
    usage: `${formatInteger(credits_used)} credits after ${formatInteger(previous_credits)}`,
    card: 'another rate card',
    corrections: 'corrections of earlier months',
    lines: 'other lines by hand',
    requests: 'other requests',
  };
  const why = reasons.map((reason) => words[reason]).join(', ');
  const whose = `${inertText(tenant_id)} of ${inertText(workspace_id)}`;
  return `${whose}: ${formatDecimal(amount)} after ${formatDecimal(previous_amount)}: ${why}`;
}

/** What somebody should look at, though it stands in the way of nothing. */
export function noticesOf(
  { workspace_id: id, unnamed, unpriced, tenants, state }: MonthEndWorkspace,
  period: Period,
): { words: string; command: string }[] {
  const option = workspaceOption(id);
  const of = (lacking: typeof unnamed) => firstOf(lacking.first.map(inertText), 5, lacking.count);
  const notices: { words: string; command: string }[] = [];
  if (state === 'closed') return notices;
  if (unnamed.count > 0) {
    const words = `${inertText(id)}: ${formatInteger(unnamed.count)} of ${counted(tenants, 'tenant')} without name and reference: ${of(unnamed)}`;
    notices.push({ words, command: `usage-ledger tenants import FILE ${option}` });
  }
  if (unpriced.count > 0) {
    const words = `${inertText(id)}: ${counted(unpriced.count, 'tenant')} without a price: ${of(unpriced)}`;
    notices.push({ words, command: `usage-ledger statement ${period} ${option}` });
  }
  return notices;
}
