import type { OutletConfig } from '../config/types.ts';
import { nextTurn } from '../core/clock.ts';
import type { OutletRow } from '../ledger/journal/outlets/outlet-book.ts';
import { entriesAfterCursor, lastEntryId } from '../ledger/journal/outlets/read-entries.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { customerOf, judgeEntry, type OutletScope } from './events.ts';
import type { ReceiverLimits } from './receiver.ts';
import { scopeOf } from './sweep.ts';

/** What would be sent of a month, and how many events would be held or are too late. */
interface MonthPreview {
  period: string;
  events: number;
  quantity: bigint;
  held: number;
  late: number;
}

interface Beginning {
  outlet: OutletConfig;
  scope: OutletScope;
  /** As it was begun before. */
  before: OutletRow | undefined;
  limits: ReceiverLimits;
}

const STEP = 2000;

/** What would be sent if the outlet was begun now, judged entry by entry as the sweep judges. */
export async function previewBegin(
  connection: LedgerDb,
  { outlet, scope, before, limits }: Beginning,
  nowMs: number,
): Promise<{ months: MonthPreview[]; unnamed: { workspaceId: string; tenantId: string }[] }> {
  const months = new Map<string, MonthPreview>();
  const unnamed = new Map<bigint, { workspaceId: string; tenantId: string }>();
  const passed = before && { cursor: before.cursor, scope: scopeOf(before, scope.ledgerId) };
  const to = lastEntryId(connection);
  for (let cursor = 0; cursor < to; ) {
    const entries = entriesAfterCursor(connection, { cursor, to, limit: STEP });
    for (const entry of entries) {
      cursor = Number(entry.entryId);
      const isPassed = passed !== undefined && cursor <= passed.cursor;
      if (isPassed && judgeEntry(entry, { scope: passed.scope, outlet, limits }, nowMs) !== null) continue;
      const judged = judgeEntry(entry, { scope, outlet, limits }, nowMs);
      if (judged === null) continue;
      const { period } = entry;
      const month = months.get(period) ?? { period, events: 0, quantity: 0n, held: 0, late: 0 };
      months.set(period, month);
      if ('event' in judged) {
        month.events += 1;
        month.quantity += judged.event.quantity;
      } else if (judged.exception.state === 'late') month.late += 1;
      else {
        month.held += 1;
        if (customerOf(entry, outlet) === null) unnamed.set(entry.tenantKey, entry);
      }
    }
    if (entries.length === 0) break;
    await nextTurn();
  }
  const sorted = [...months.values()].sort((a, b) => (a.period < b.period ? -1 : 1));
  return { months: sorted, unnamed: [...unnamed.values()] };
}
