/** Returns the name of a rule for people: `new_spend` is `New spend`. */
export function ruleLabel(rule: string): string {
  return `${rule.charAt(0).toUpperCase()}${rule.slice(1).replaceAll('_', ' ')}`;
}
