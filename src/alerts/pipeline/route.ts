import type { ChannelConfig, RouteConfig } from '../../config/channel-types.ts';
import type { Config } from '../../config/types.ts';
import { RULES, type RuleName, SEVERITIES, type Severity } from '../../core/text/alert-words.ts';
import { matchesPattern } from '../../core/text/patterns.ts';
import { RULE_TABLE } from '../rules/rules.ts';

/** A channel and what it is told of, and when; plain data, because it crosses threads. */
export interface ChannelRoute extends RouteConfig {
  channel: string;
  /** Where people reach the pages. */
  publicUrl?: string;
  /** What signs the links to them that need no token. */
  linkKey?: string;
}

const EVERYTHING: RouteConfig = { severities: SEVERITIES, rules: RULES, digestHour: null, followUps: 'digest' };

/** Without any configured channel, alerts at least reach the log. */
export function channelsOf({ alerts }: Config): readonly ChannelConfig[] {
  return alerts.channels.length > 0 ? alerts.channels : [{ type: 'log', name: 'log' }];
}

/** The routes of the configured channels, in the order of the configuration. */
export function routesOf(channels: readonly ChannelConfig[], publicUrl: string | null = null): ChannelRoute[] {
  const pages = publicUrl === null ? {} : { publicUrl };
  return channels.map(({ name, route = EVERYTHING }) => ({ channel: name, ...route, ...pages }));
}

/** The channels of the process that evaluates alerts, and the time at which it does, in milliseconds since the epoch. */
export interface Notifying {
  routes: readonly ChannelRoute[];
  nowMs: number;
}

interface RoutedAlert {
  rule: RuleName;
  cause?: string | null;
  severity: Severity;
  /** Null: about the ledger as a whole, which is told whatever workspaces a channel takes. */
  workspaceId: string | null;
  tenantId: string | null;
}

/** Whether the channel is told of what this rule finds of this subject while it has this severity. */
export function takes(route: ChannelRoute, { rule, cause, severity, workspaceId, tenantId }: RoutedAlert): boolean {
  const { rules, severities, workspaces, tenants, not } = route;
  // One that fails is told of by the others.
  if (cause === `channel:${route.channel}`) return false;
  if (!rules.includes(rule) || !severities.includes(severity) || not?.rules?.includes(rule)) return false;
  if (workspaceId !== null && fitsAny(not?.workspaces ?? [], workspaceId)) return false;
  if (tenantId !== null && fitsAny(not?.tenants ?? [], tenantId)) return false;
  if (workspaces !== undefined && workspaceId !== null && !fitsAny(workspaces, workspaceId)) return false;
  return tenants === undefined || (tenantId !== null && fitsAny(tenants, tenantId));
}

export function fitsAny(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, text));
}

/** The hour of follow-ups where no `digest_hour` says another. */
const FOLLOW_UP_HOUR = 7;

export function hourOf({ digestHour }: ChannelRoute): number {
  return digestHour ?? FOLLOW_UP_HOUR;
}

/** When the next digest after this moment is due, in milliseconds since the epoch. */
export function nextSummaryMs(hour: number, nowMs: number): number {
  const today = new Date(nowMs).setUTCHours(hour, 0, 0, 0);
  return today > nowMs ? today : today + 86_400_000;
}

/** What no channel is told of in a workspace: by severity, the rules. A channel of some tenants leaves the others out. */
export function unheardRules(
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
