import type { OutletConfig } from '../config/types.ts';
import type { OutletException } from '../ledger/journal/outlets/outlet-book.ts';
import { entriesBehind } from '../ledger/journal/outlets/read-entries.ts';
import type { LedgerConnection } from '../ledger/store/file/open.ts';
import { customerOf, entryOf } from './events.ts';
import { checkOutlet } from './read-back.ts';
import type { Receiver } from './receiver.ts';

interface Asking {
  outlet: OutletConfig;
  receiver: Receiver;
  connection: LedgerConnection;
  ledgerId: string;
}

/**
 * The entries among events that the receiver refused after it had taken them, by their ids with why: those of customers and
 * months of which it lacks something. A report outlives what was done about it, and an event that was sent again since and
 * is there must not be sent once more: by then the receiver may have forgotten its id.
 */
export async function findRefused(
  { ledgerId, ...asking }: Asking,
  refused: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<Omit<OutletException, 'state'>[]> {
  const { outlet, connection } = asking;
  const found = [...refused].flatMap(([id, reason]) => {
    const entryId = entryOf(id, ledgerId);
    if (entryId === null) return [];
    const [entry] = entriesBehind(connection, { cursor: entryId - 1, to: entryId, limit: 1 });
    return entry === undefined ? [] : [{ entryId, reason, period: entry.period, customer: customerOf(entry, outlet) }];
  });
  const lacking = new Set<string>();
  for (const period of new Set(found.map((one) => one.period))) {
    const { differences } = await checkOutlet(asking, period, signal);
    for (const { customer } of differences) lacking.add(`${period} ${customer}`);
  }
  return found
    .filter(({ period, customer }) => lacking.has(`${period} ${customer}`))
    .map(({ entryId, reason }) => ({ entryId, reason }));
}
