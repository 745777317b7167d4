import { RULES, type RuleName, SEVERITIES, type Severity } from '../../core/text/alert-words.ts';
import { RULE_TABLE } from '../rules/rules.ts';
import { type ChannelRoute, takes } from './route.ts';

/**
 * Returns the rules, by severity, that no channel takes in a workspace. Channels that are limited to some tenants do
 * not count.
 */
export function unroutedRules(
  routes: readonly ChannelRoute[],
  workspaceId: string,
): { severity: Severity; rules: RuleName[] }[] {
  return SEVERITIES.map((severity) => ({
    severity,
    rules: RULES.filter(
      (rule) =>
        ['both', severity].includes(RULE_TABLE[rule].kind.severity) &&
        !routes.some(
          (route) => route.tenants === undefined && takes(route, { rule, severity, workspaceId, tenantId: null }),
        ),
    ),
  })).filter(({ rules }) => rules.length > 0);
}
