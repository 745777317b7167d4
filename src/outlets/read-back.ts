import type { OutletConfig } from '../config/types.ts';
import { type OutletException, type OutletRow, readOutlet } from '../ledger/journal/outlets/outlet-book.ts';
import {
  entriesAfterCursor,
  periodsAfterCursor,
  type SentSum,
  sumSentEntries,
} from '../ledger/journal/outlets/read-entries.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { customerOf, entryIdIn, quantityOf } from './events.ts';
import type { Receiver, UsageEvent } from './receiver.ts';

interface ReadBackDeps {
  outlet: OutletConfig;
  receiver: Receiver;
  connection: LedgerDb;
}

/**
 * Whether the receiver has an event that may have been sent. `unclear`: the receiver's sums do not show it; the text is
 * the reason.
 */
export type ArrivalStatus = 'arrived' | 'absent' | { unclear: string };

/**
 * Asks the receiver for its sum for each customer and month that has entries up to `flightTo` that may have been sent.
 * Returns a function that looks up whether an event arrived; null if the receiver cannot be queried.
 */
export async function createArrivalLookup(
  { outlet, receiver, connection }: ReadBackDeps,
  row: OutletRow,
  flightTo: number,
  signal: AbortSignal,
): Promise<((event: UsageEvent) => ArrivalStatus) | null> {
  const statuses = new Map<string, ArrivalStatus>();
  for (const period of periodsAfterCursor(connection, row.cursor, flightTo)) {
    if (period < row.fromPeriod) continue;
    const asked = { outlet: row.name, period, workspaces: workspacesOf(row) };
    const without = byCustomer(await sumSentEntries(connection, { ...asked, upTo: row.cursor }), outlet);
    const withIt = byCustomer(await sumSentEntries(connection, { ...asked, upTo: flightTo }), outlet);
    const there = await receiver.usage(period, [...withIt.keys()], signal);
    if (there === null) return null;
    for (const [customer, { quantity }] of withIt) {
      const has = normalizeDecimal(there.get(customer));
      const before = without.get(customer)?.quantity ?? 0n;
      const unclear = `it is unknown whether the event arrived: for ${period} the receiver has ${has}, but the ledger has ${before} without the events in doubt and ${quantity} with them`;
      const status = has === String(quantity) ? 'arrived' : has === String(before) ? 'absent' : { unclear };
      statuses.set(`${period} ${customer}`, status);
    }
  }
  return ({ period, customer }) => statuses.get(`${period} ${customer}`) ?? 'absent';
}

/** A customer and month for which the ledger and the receiver have different quantities. */
export interface OutletDifference {
  period: string;
  customer: string;
  ledger: string;
  receiver: string;
  tenants: { workspace_id: string; tenant_id: string }[];
  /** The ids of the last entries of each of these tenants in this month, the newest first. */
  entry_ids: number[];
}

/** The result of comparing a month with the receiver. */
export interface OutletCheck {
  /** Number of compared customers; null if the receiver cannot be queried. */
  customers: number | null;
  differences: OutletDifference[];
}

/** Compares, for each customer, the receiver's sum of a month with the quantity that the outlet has sent. */
export async function checkOutlet(
  { outlet, receiver, connection }: ReadBackDeps,
  period: string,
  signal: AbortSignal,
): Promise<OutletCheck> {
  const row = readOutlet(connection, outlet.name);
  if (row === undefined || period < row.fromPeriod) return { customers: 0, differences: [] };
  const asked = { outlet: row.name, period, upTo: row.cursor, workspaces: workspacesOf(row) };
  const ours = byCustomer(await sumSentEntries(connection, asked), outlet);
  const theirs = await receiver.usage(period, [...ours.keys()], signal);
  if (theirs === null) return { customers: null, differences: [] };
  const differences: OutletDifference[] = [];
  for (const customer of new Set([...ours.keys(), ...theirs.keys()])) {
    const { quantity, tenants } = ours.get(customer) ?? { quantity: 0n, tenants: [] };
    const has = normalizeDecimal(theirs.get(customer));
    if (has === String(quantity)) continue;
    differences.push({
      period,
      customer,
      ledger: String(quantity),
      receiver: has,
      tenants: tenants.map(({ workspaceId, tenantId }) => ({ workspace_id: workspaceId, tenant_id: tenantId })),
      entry_ids: tenants.flatMap((tenant) => lastEntries(connection, tenant, row.cursor)),
    });
  }
  return { customers: ours.size, differences };
}

/**
 * Returns the entries of events that the receiver reported as refused. Only entries of customers and months whose sums
 * differ are returned: after the report, an event may have been sent again with success. Sending it once more could
 * count it twice, because the receiver may have forgotten its id.
 */
export async function findRefusedEntries(
  { ledgerId, ...asking }: ReadBackDeps & { ledgerId: string },
  refused: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<Omit<OutletException, 'state'>[]> {
  const { outlet, connection } = asking;
  const found = [...refused].flatMap(([id, reason]) => {
    const entryId = entryIdIn(id, ledgerId);
    if (entryId === null) return [];
    const [entry] = entriesAfterCursor(connection, { cursor: entryId - 1, to: entryId, limit: 1 });
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

const MAX_ENTRIES_PER_DIFFERENCE = 20;

function lastEntries(connection: LedgerDb, { periodKey, tenantKey }: SentSum, upTo: number): number[] {
  return connection
    .prepare(
      `SELECT entry_id FROM usage_entries WHERE period_key = ? AND tenant_key = ? AND entry_id <= ?
       ORDER BY entry_id DESC LIMIT ?`,
    )
    .pluck()
    .all(periodKey, tenantKey, upTo, MAX_ENTRIES_PER_DIFFERENCE) as number[];
}

function workspacesOf({ workspaces }: OutletRow): readonly string[] | null {
  return workspaces === null ? null : (JSON.parse(workspaces) as string[]);
}

/** Adds up the sums of each customer's tenants, because several tenants may be one customer at the receiver. */
function byCustomer(sums: readonly SentSum[], outlet: OutletConfig) {
  const customers = new Map<string, { quantity: bigint; tenants: SentSum[] }>();
  for (const sum of sums) {
    const customer = customerOf(sum, outlet);
    if (customer === null) continue;
    const known = customers.get(customer) ?? { quantity: 0n, tenants: [] };
    known.quantity += quantityOf(sum, outlet);
    known.tenants.push(sum);
    customers.set(customer, known);
  }
  return customers;
}

/** Removes trailing decimal zeros, so that a receiver's decimal number can be compared with the ledger's integer. */
function normalizeDecimal(text: string | undefined): string {
  const number = (text ?? '0').replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
  return number === '' || number === '-0' ? '0' : number;
}
