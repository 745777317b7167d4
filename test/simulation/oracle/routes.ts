import type { Route } from '../world/configuration.ts';
import type { Receiver } from '../world/receiver.ts';

/** A receiver with what it is told of. */
export interface Listener {
  receiver: Receiver;
  route: Route;
}

/** What a route looks at. */
export interface Routed {
  rule: string;
  severity: string;
  workspace_id: string;
  tenant_id: string | null;
}

/** Those about the ledger as a whole. */
const OF_THE_LEDGER = ['clock_moved', 'publish_stale', 'export_failed'];

/** As documented: whether a channel is told of an alert. */
export function takes({ severities, rules, workspaces, tenants }: Route, alert: Routed): boolean {
  if (severities?.includes(alert.severity) === false || rules?.includes(alert.rule) === false) return false;
  if (tenants !== undefined && !isOneOf(tenants, alert.tenant_id)) return false;
  return OF_THE_LEDGER.includes(alert.rule) || workspaces === undefined || isOneOf(workspaces, alert.workspace_id);
}

/** The patterns of this world end with their star. */
function isOneOf(patterns: readonly string[], text: string | null): boolean {
  return patterns.some((pattern) => text === pattern || (pattern.endsWith('*') && text?.startsWith(pattern.slice(0, -1))));
}
