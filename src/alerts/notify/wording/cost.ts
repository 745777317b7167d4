import type { RuleName } from '../../rules/rule.ts';
import type { StakeMoney } from '../evidence.ts';
import { type Facts, monthOf } from './facts-told.ts';
import { grouped } from './names.ts';

/** What the money of an alert is the price of. */
const OF: Partial<Record<RuleName, string>> = {
  jump: 'The increase costs',
  workspace_jump: 'The increase costs',
  new_spend: 'That costs',
  trend: 'The increase costs',
  budget: 'The part over the budget costs',
  drop: 'The credits that are missing cost',
  regression: 'The lost credits cost',
  restatement: 'The difference is',
  withdrawn: 'These credits cost',
};

/** What it costs; nothing where no card prices it. */
export function costWords(facts: Facts): string {
  const { at_stake_money: money = null, projection } = facts.evidence;
  const of = OF[facts.rule];
  if (money === null || of === undefined || BigInt(money.amount_minor) === 0n) return '';
  const goesOn = projection !== null && projection.credits > (facts.credits?.current ?? 0n);
  return `${of} ${amountWords(money)}${goesOn ? ` by the end of ${monthOf(facts)}` : ''}.`;
}

/** `1,234.50 EUR`. */
export function amountWords({ amount, currency }: StakeMoney): string {
  const [whole = '', part] = amount.split('.');
  const integer = grouped(BigInt(whole));
  return `${part === undefined ? integer : `${integer}.${part}`} ${currency}`;
}
