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
  cause: string | null;
  severity: string;
  /** Null: about the ledger as a whole. */
  workspace_id: string | null;
  tenant_id: string | null;
}

/** As documented: whether a channel is told of an alert. */
export function takes({ name, severities, rules, workspaces, tenants }: Route, alert: Routed): boolean {
  if (severities?.includes(alert.severity) === false || rules?.includes(alert.rule) === false) return false;
  if (tenants !== undefined && !isOneOf(tenants, alert.tenant_id)) return false;
  // A channel that fails is told of by the others.
  if (alert.cause === `channel:${name}`) return false;
  return alert.workspace_id === null || workspaces === undefined || isOneOf(workspaces, alert.workspace_id);
}

/** The patterns of this world end with their star. */
function isOneOf(patterns: readonly string[], text: string | null): boolean {
  return patterns.some(
    (pattern) => text === pattern || (pattern.endsWith('*') && text?.startsWith(pattern.slice(0, -1))),
  );
}
