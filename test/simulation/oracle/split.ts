import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';

interface Reading {
  workspace_id: string;
  /** The last that was said of whether it is read; `read`: nothing. */
  action: 'read' | 'end' | 'elsewhere' | 'resume';
}

/** What a ledger has done for one workspace. */
interface Done {
  runs: bigint;
  events: bigint;
  messages: bigint;
}

interface Away {
  done: Done;
  /** What it said of the workspace when it was ended. */
  said: string;
}

const LAST = `SELECT w.workspace_id, coalesce((SELECT e.action FROM acts e
  WHERE e.workspace_key = w.workspace_key ORDER BY e.act_seq DESC LIMIT 1), 'read') AS action FROM workspaces w`;
const DONE = `SELECT (SELECT count(*) FROM runs r WHERE r.workspace_key = w.workspace_key) AS runs,
    (SELECT count(*) FROM period_events e WHERE e.workspace_key = w.workspace_key) AS events,
    (SELECT count(*) FROM delivery_members m JOIN alerts a USING (alert_key) WHERE a.workspace_key = w.workspace_key) AS messages
  FROM workspaces w WHERE w.workspace_id = ?`;
/** What somebody acknowledges is open all the same. */
const SAID = [
  'SELECT tenant_id, period, credits_used, request_count, withdrawn FROM finance_usage WHERE workspace_id = ? ORDER BY 1, 2',
  'SELECT period, action, at, credits_used FROM finance_closes WHERE workspace_id = ? ORDER BY event_seq',
  `SELECT alert_id, iif(state = 'acknowledged', 'firing', state), level FROM finance_alerts WHERE workspace_id = ? ORDER BY 1`,
];

/** One ledger reads a workspace at a time: who has ended it leaves it alone, and who goes on with it has all of it. */
export class SplitOracle {
  /** The ledger reads all workspaces that it has not ended; the copy reads those that it has not ended when it begins. */
  readonly #isFirst: boolean;
  readonly #here = new Map<string, number>();
  readonly #away = new Map<string, Away>();

  constructor(isFirst: boolean) {
    this.#isFirst = isFirst;
  }

  /** After every commit; `saidBefore` is what the ledger that the copy was made of has said of a workspace. */
  check(ledger: LedgerView, nowMs: number, saidBefore: (workspaceId: string) => string | null): void {
    for (const { workspace_id: id, action } of ledger.all<Reading>(LAST)) {
      if (action === 'elsewhere') this.#checkAway(ledger, id);
      else if (this.#away.has(id) || (!this.#isFirst && !this.#here.has(id))) {
        this.#away.delete(id);
        this.#here.set(id, nowMs);
        const before = action === 'read' ? saidBefore(id) : null;
        if (before !== null && said(ledger, id) !== before)
          throw new PromiseBroken('a copy has all of a workspace', `${id}: ${said(ledger, id)}, before ${before}`);
      }
    }
  }

  #checkAway(ledger: LedgerView, id: string): void {
    const [done] = ledger.all<Done>(DONE, id);
    if (done === undefined) return;
    const away = this.#away.get(id);
    if (away === undefined) this.#away.set(id, { done, said: said(ledger, id) });
    else if (done.runs > away.done.runs || done.events > away.done.events || done.messages > away.done.messages)
      throw new PromiseBroken('who has ended a workspace leaves it alone', id);
  }

  has(workspaceId: string): boolean {
    return this.#isFirst ? !this.#away.has(workspaceId) : this.#here.has(workspaceId);
  }

  /** Since when; 0: it always has. */
  sinceMs(workspaceId: string): number {
    return this.#here.get(workspaceId) ?? 0;
  }

  /** What the ledger said of a workspace when it ended it; null when it has not. */
  saidOf(workspaceId: string): string | null {
    return this.#away.get(workspaceId)?.said ?? null;
  }
}

function said(ledger: LedgerView, workspaceId: string): string {
  const rows = SAID.flatMap((sql) => ledger.all<Record<string, unknown>>(sql, workspaceId));
  return rows.map((row) => Object.values(row).join(' ')).join('\n');
}

/** Whether a message is of this ledger. */
export function hasMade(ledger: LedgerView | null, notificationId: string): boolean {
  const found = ledger?.all('SELECT 1 AS found FROM deliveries WHERE notification_id = ?', notificationId) ?? [];
  return found.length > 0;
}
