import type { ChannelConfig, RouteConfig } from '../../config/channel-types.ts';
import type { Config } from '../../config/types.ts';
import { createSlotFinder, type SlotSpan } from '../../core/cron.ts';
import { RULES, type RuleName, SEVERITIES, type Severity } from '../../core/text/alert-words.ts';
import { matchesPattern } from '../../core/text/patterns.ts';
import { UTC } from '../../core/time-zone.ts';

/** A channel's name and the alerts that it takes. This is plain data, because it is sent between threads. */
export interface ChannelRoute extends RouteConfig {
  channel: string;
  /** IANA time zone of the daily summary, reminders and dates. */
  timezone: string;
  /** Base address of the pages that messages link to; absent: no links. */
  publicUrl?: string;
  /** Key that signs links which need no token. */
  linkKey?: string;
}

const EVERYTHING: RouteConfig = { severities: SEVERITIES, rules: RULES, digestHour: null, followUps: 'digest' };

/** Returns the configured channels; if there is none, the log. */
export function channelsOf({ alerts, timezone }: Config): readonly ChannelConfig[] {
  return alerts.channels.length > 0 ? alerts.channels : [{ type: 'log', name: 'log', timezone }];
}

/** Returns the routes of channels, in their order. */
export function toRoutes(channels: readonly ChannelConfig[], publicUrl: string | null = null): ChannelRoute[] {
  const pages = publicUrl === null ? {} : { publicUrl };
  return channels.map(({ name, timezone = UTC, route = EVERYTHING }) => ({
    channel: name,
    timezone,
    ...route,
    ...pages,
  }));
}

/** The channels to notify, and the time of the evaluation in milliseconds since the epoch. */
export interface NotifyOptions {
  routes: readonly ChannelRoute[];
  nowMs: number;
}

interface RoutedAlert {
  rule: RuleName;
  cause?: string | null;
  severity: Severity;
  /** Null for an alert about the ledger itself, which channels for certain workspaces take too. */
  workspaceId: string | null;
  tenantId: string | null;
}

/** Reports whether a channel takes an alert with this rule, subject and severity. */
export function routeTakes(
  route: ChannelRoute,
  { rule, cause, severity, workspaceId, tenantId }: RoutedAlert,
): boolean {
  const { rules, severities, workspaces, tenants, not } = route;
  // A failing channel cannot deliver the alert about its own failure, so only the others take it.
  if (cause === `channel:${route.channel}`) return false;
  if (!rules.includes(rule) || !severities.includes(severity) || not?.rules?.includes(rule)) return false;
  if (workspaceId !== null && matchesAnyPattern(not?.workspaces ?? [], workspaceId)) return false;
  if (tenantId !== null && matchesAnyPattern(not?.tenants ?? [], tenantId)) return false;
  if (workspaces !== undefined && workspaceId !== null && !matchesAnyPattern(workspaces, workspaceId)) return false;
  return tenants === undefined || (tenantId !== null && matchesAnyPattern(tenants, tenantId));
}

export function matchesAnyPattern(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, text));
}

/** Hour at which a channel without `digest_hour` gets its daily summary, in the channel's time zone. */
const FOLLOW_UP_HOUR = 7;

const summaryFinders = new Map<string, (nowMs: number) => SlotSpan | null>();

/**
 * Returns the times of the latest and the next daily summary of a channel, in milliseconds since the epoch. There is
 * one a day, at a fixed hour in the channel's time zone.
 */
export function findSummaryTimes(
  { digestHour, timezone }: Pick<ChannelRoute, 'digestHour' | 'timezone'>,
  nowMs: number,
) {
  const cron = `0 ${digestHour ?? FOLLOW_UP_HOUR} * * *`;
  const key = `${cron} ${timezone}`;
  const finder = summaryFinders.get(key) ?? createSlotFinder({ cron, timezone });
  summaryFinders.set(key, finder);
  const span = finder(nowMs);
  // There is a slot each day: if daylight saving time skips this hour, the next existing time is used.
  if (span === null) throw new Error(`no daily summary at ${key}`);
  return { latestMs: span.slotMs, nextMs: span.nextMs };
}
