import type { OutletConfig } from '../config/types.ts';
import { nextTurn } from '../core/clock.ts';
import type { OutletRow } from '../ledger/journal/outlets/outlet-book.ts';
import { entriesAfterCursor, lastEntryId } from '../ledger/journal/outlets/read-entries.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { customerOf, type OutletScope, prepareEntry } from './events.ts';
import { scopeOf } from './forwarder.ts';
import type { ReceiverLimits } from './receiver.ts';

/**
 * A preview of one month: the number and the total quantity of the events that would be sent, and the numbers of held
 * and late events.
 */
interface MonthPreview {
  period: string;
  events: number;
  quantity: bigint;
  held: number;
  late: number;
}

interface StartRequest {
  outlet: OutletConfig;
  scope: OutletScope;
  /** The outlet's row in the ledger if the outlet was started before. */
  before: OutletRow | undefined;
  limits: ReceiverLimits;
}

const PREVIEW_STEP = 2000;

/**
 * Counts, for each month, the events that would be sent if the outlet were started now. The same checks as in the
 * forwarder decide whether an event would be sent. `unmapped` lists the tenants that have no name at the receiver.
 */
export async function previewStart(
  connection: LedgerDb,
  { outlet, scope, before, limits }: StartRequest,
  nowMs: number,
): Promise<{ months: MonthPreview[]; unmapped: { workspaceId: string; tenantId: string }[] }> {
  const months = new Map<string, MonthPreview>();
  const unmapped = new Map<bigint, { workspaceId: string; tenantId: string }>();
  const passed = before && { cursor: before.cursor, scope: scopeOf(before, scope.ledgerId) };
  const to = lastEntryId(connection);
  for (let cursor = 0; cursor < to; ) {
    const entries = entriesAfterCursor(connection, { cursor, to, limit: PREVIEW_STEP });
    for (const entry of entries) {
      cursor = Number(entry.entryId);
      const isPassed = passed !== undefined && cursor <= passed.cursor;
      if (isPassed && prepareEntry(entry, { scope: passed.scope, outlet, limits }, nowMs) !== null) continue;
      const prepared = prepareEntry(entry, { scope, outlet, limits }, nowMs);
      if (prepared === null) continue;
      const { period } = entry;
      const month = months.get(period) ?? { period, events: 0, quantity: 0n, held: 0, late: 0 };
      months.set(period, month);
      if ('event' in prepared) {
        month.events += 1;
        month.quantity += prepared.event.quantity;
      } else if (prepared.exception.state === 'late') month.late += 1;
      else {
        month.held += 1;
        if (customerOf(entry, outlet) === null) unmapped.set(entry.tenantKey, entry);
      }
    }
    if (entries.length === 0) break;
    await nextTurn();
  }
  const sorted = [...months.values()].sort((a, b) => (a.period < b.period ? -1 : 1));
  return { months: sorted, unmapped: [...unmapped.values()] };
}
