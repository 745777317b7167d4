import type { Route } from '../world/configuration.ts';
import type { Received, Receiver } from '../world/receiver.ts';

/** What the oracle reads of a message, by the published schema. */
export interface Message {
  type: string;
  alert_id?: string;
  revision?: number;
  /** Of a group, or with their notifications of a digest. */
  alerts?: (Message & { notifications?: Message[] })[];
  rule?: string;
  event?: string;
  level?: string;
  state?: 'firing' | 'resolved';
  workspace_id?: string | null;
  tenant_id?: string | null;
  began_at?: string | null;
  summary?: string;
  credits?: { current: number };
  period?: string | null;
  evidence?: { predecessor?: { tenant_id: string } | null; tenants?: { common_growth: number | null } | null };
}

/** What a message says of alerts: one, or with a group or a digest several. */
export function wordsIn(payload: string): Message[] {
  const message = JSON.parse(payload) as Message;
  if (message.type === 'alert.digest') return (message.alerts ?? []).flatMap(({ notifications = [] }) => notifications);
  return message.type === 'alert.group' ? (message.alerts ?? []) : [message];
}

export function isOpenWord(word: Message | undefined): boolean {
  return word !== undefined && word.type !== 'alert.resolved';
}

/** The last word of each alert for a receiver that leaves alone what is older than what it has. */
export function lastWords(inbox: readonly Received[]): Map<string, Message> {
  const words = new Map<string, Message>();
  for (const word of inbox.flatMap(({ payload }) => wordsIn(payload))) {
    const { alert_id, revision = 0 } = word;
    if (alert_id === undefined || revision <= (words.get(alert_id)?.revision ?? 0)) continue;
    words.set(alert_id, word);
  }
  return words;
}

/** A receiver with what it is told of. */
export interface Listener {
  receiver: Receiver;
  route: Route;
  /** It was sent all that it was to hear, and has taken it. */
  hasAll: boolean;
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
