import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';

interface Moved {
  workspace_id: string;
  action: 'export' | 'keep' | 'import';
}

/** What a ledger has done for one workspace. */
interface Done {
  runs: bigint;
  events: bigint;
  messages: bigint;
}

interface Away {
  done: Done;
  /** What it said of the workspace when it was exported. */
  said: string;
}

const LAST = `SELECT w.workspace_id, m.action FROM workspace_moves m JOIN workspaces w USING (workspace_key)
  WHERE m.move_key = (SELECT max(move_key) FROM workspace_moves o WHERE o.workspace_key = m.workspace_key)`;
const DONE = `SELECT (SELECT count(*) FROM runs r WHERE r.workspace_key = w.workspace_key) AS runs,
    (SELECT count(*) FROM period_events e WHERE e.workspace_key = w.workspace_key) AS events,
    (SELECT count(*) FROM outbox o JOIN alerts a USING (alert_key) WHERE a.workspace_key = w.workspace_key) AS messages
  FROM workspaces w WHERE w.workspace_id = ?`;
/** What somebody acknowledges is open all the same. */
const SAID = [
  'SELECT tenant_id, period, credits_used, request_count, withdrawn FROM finance_usage WHERE workspace_id = ? ORDER BY 1, 2',
  'SELECT period, action, at, credits_used FROM finance_closes WHERE workspace_id = ? ORDER BY event_seq',
  `SELECT alert_id, iif(state = 'acknowledged', 'firing', state), level FROM finance_alerts WHERE workspace_id = ? ORDER BY 1`,
];

/** One ledger has a workspace at a time: who has given it away leaves it alone, and who has taken it in has all of it. */
export class MovesOracle {
  /** The ledger has all workspaces that it has not given away; else those alone that it has taken in. */
  readonly #isFirst: boolean;
  readonly #here = new Map<string, number>();
  readonly #away = new Map<string, Away>();

  constructor(isFirst: boolean) {
    this.#isFirst = isFirst;
  }

  /** After every commit; `saidBefore` is what the ledger that a workspace comes from has said of it. */
  check(ledger: LedgerView, nowMs: number, saidBefore: (workspaceId: string) => string | null): void {
    for (const { workspace_id: id, action } of ledger.all<Moved>(LAST)) {
      if (action === 'export') this.#checkAway(ledger, id);
      else if (!this.#here.has(id) || this.#away.has(id)) {
        this.#away.delete(id);
        this.#here.set(id, nowMs);
        const before = action === 'import' ? saidBefore(id) : null;
        if (before !== null && said(ledger, id) !== before)
          throw new PromiseBroken('a workspace moves whole', `${id}: ${said(ledger, id)}, before ${before}`);
      }
    }
  }

  #checkAway(ledger: LedgerView, id: string): void {
    const [done] = ledger.all<Done>(DONE, id);
    if (done === undefined) return;
    const away = this.#away.get(id);
    if (away === undefined) this.#away.set(id, { done, said: said(ledger, id) });
    else if (done.runs > away.done.runs || done.events > away.done.events || done.messages > away.done.messages)
      throw new PromiseBroken('who has given a workspace away leaves it alone', id);
  }

  has(workspaceId: string): boolean {
    return this.#isFirst ? !this.#away.has(workspaceId) : this.#here.has(workspaceId);
  }

  /** Since when; 0: it always has. */
  sinceMs(workspaceId: string): number {
    return this.#here.get(workspaceId) ?? 0;
  }

  /** What the ledger said of a workspace when it gave it away; null when it has not. */
  saidOf(workspaceId: string): string | null {
    return this.#away.get(workspaceId)?.said ?? null;
  }
}

function said(ledger: LedgerView, workspaceId: string): string {
  const rows = SAID.flatMap((sql) => ledger.all<Record<string, unknown>>(sql, workspaceId));
  return rows.map((row) => Object.values(row).join(' ')).join('\n');
}

const WAITS_BEHIND = `SELECT count(*) FROM outbox o JOIN alerts a USING (alert_key)
  LEFT JOIN outbox c ON c.notification_id = o.digest_id
  WHERE a.alert_id = ? AND o.channel = ? AND coalesce(c.state, o.state) IN ('pending', 'held') AND a.workspace_key IN (
    SELECT workspace_key FROM (SELECT workspace_key, action, max(move_key) FROM workspace_moves GROUP BY workspace_key)
    WHERE action = 'export')`;

/** Whether something of an alert waits for a channel in the ledger that its workspace has left: it counts as told from the export on. */
export function waitsBehind(ledger: LedgerView | null, alertId: string, channel: string): boolean {
  return ledger !== null && ledger.value<bigint>(WAITS_BEHIND, alertId, channel) > 0n;
}

/** Whether a message is of this ledger. */
export function hasMade(ledger: LedgerView | null, notificationId: string): boolean {
  const found = ledger?.all('SELECT 1 AS found FROM outbox WHERE notification_id = ?', notificationId) ?? [];
  return found.length > 0;
}
