import type { ChannelConfig, RouteConfig } from '../../config/types.ts';
import { RULES, type RuleName, SEVERITIES, type Severity } from '../../core/text/alert-words.ts';
import { SELF_RULES } from '../rules/rule.ts';

/** A channel and what it is told of, and when; plain data, because it crosses threads. */
export interface ChannelRoute extends RouteConfig {
  channel: string;
}

const EVERYTHING: RouteConfig = { severities: SEVERITIES, rules: RULES, digestHour: null, followUps: 'digest' };

/** The routes of the configured channels, in the order of the configuration. */
export function routesOf(channels: readonly ChannelConfig[]): ChannelRoute[] {
  return channels.map(({ name, route = EVERYTHING }) => ({ channel: name, ...route }));
}

/** Whether the channel is told of what this rule finds while it has this severity. */
export function takes(route: ChannelRoute, { rule, severity }: { rule: RuleName; severity: Severity }): boolean {
  return route.rules.includes(rule) && route.severities.includes(severity);
}

/** The hour of follow-ups where no `digest_hour` says another. */
const FOLLOW_UP_HOUR = 7;

/** The hour at which the digest of a channel goes. */
export function hourOf({ digestHour }: ChannelRoute): number {
  return digestHour ?? FOLLOW_UP_HOUR;
}

/** When the next digest after this moment is due, in milliseconds since the epoch. */
export function nextDigestMs(hour: number, nowMs: number): number {
  const today = new Date(nowMs).setUTCHours(hour, 0, 0, 0);
  return today > nowMs ? today : today + 86_400_000;
}

const CRITICAL_ONLY: readonly RuleName[] = ['incident', ...SELF_RULES];
const BOTH: readonly RuleName[] = ['jump', 'budget', 'workspace_jump'];

/** The severities that a rule can have. */
function severitiesOf(rule: RuleName): readonly Severity[] {
  if (BOTH.includes(rule)) return SEVERITIES;
  return CRITICAL_ONLY.includes(rule) ? ['critical'] : ['warning'];
}

/** What no channel is told of: by severity, the rules. */
export function unheardRules(routes: readonly ChannelRoute[]): { severity: Severity; rules: RuleName[] }[] {
  return SEVERITIES.map((severity) => ({
    severity,
    // Incidents are of older ledgers.
    rules: RULES.filter(
      (rule) =>
        rule !== 'incident' &&
        severitiesOf(rule).includes(severity) &&
        !routes.some((route) => takes(route, { rule, severity })),
    ),
  })).filter(({ rules }) => rules.length > 0);
}
