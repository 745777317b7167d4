import type { Facts } from '../../messages/facts/facts.ts';
import { grouped } from '../../messages/facts/names.ts';
import { day, heads } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const marginMessage: UsageMessage = {
  found: marginFound,
  ended(facts) {
    const { who, month } = heads(facts);
    return `${who} is no longer below cost in ${month}.`;
  },
  foundForMany: (month) => `are below cost in ${month}`,
};

function marginFound(facts: Facts): string[] {
  const { who, month, used } = heads(facts);
  const { projection, detail } = facts.evidence;
  const sums = detail ?? 'pays less than it costs';
  if (projection === null) return [`${who} was below cost in ${month}: for ${used} credits it ${sums}.`];
  const is =
    facts.level === 'likely'
      ? `will probably be below cost in ${month}`
      : `is below cost in ${month} and will probably stay so`;
  const comes = `at the ${grouped(projection.credits)} credits forecast${day(facts)}`;
  return [`${who} ${is}: ${comes}, it ${sums}.`];
}
