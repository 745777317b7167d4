import { RULES, type RuleName, SEVERITIES, type Severity } from '../../core/text/alert-words.ts';
import { RULE_TABLE } from '../rules/rules.ts';
import { type ChannelRoute, routeTakes } from './route.ts';

/**
 * Returns the rules, by severity, whose alerts about a workspace no channel takes. Channels that are limited to some
 * tenants count as not taking them.
 */
export function findUnroutedRules(
  routes: readonly ChannelRoute[],
  workspaceId: string,
): { severity: Severity; rules: RuleName[] }[] {
  return SEVERITIES.map((severity) => ({
    severity,
    rules: RULES.filter(
      (rule) =>
        ['both', severity].includes(RULE_TABLE[rule].kind.severity) &&
        !routes.some(
          (route) => route.tenants === undefined && routeTakes(route, { rule, severity, workspaceId, tenantId: null }),
        ),
    ),
  })).filter(({ rules }) => rules.length > 0);
}
