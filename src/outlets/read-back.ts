import type { OutletConfig } from '../config/types.ts';
import { type OutletException, type OutletRow, readOutlet } from '../ledger/journal/outlets/outlet-book.ts';
import {
  entriesAfterCursor,
  periodsAfterCursor,
  type SentSum,
  sentSums,
} from '../ledger/journal/outlets/read-entries.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { customerOf, entryOf, quantityOf } from './events.ts';
import type { Receiver, UsageEvent } from './receiver.ts';

interface Asking {
  outlet: OutletConfig;
  receiver: Receiver;
  connection: LedgerDb;
}

/** Whether the receiver has what was perhaps sent of a customer and month. */
export type Verdict = 'there' | 'absent' | { unclear: string };

/**
 * Asks the receiver what it has of every customer and month of which something was perhaps sent up to the entry `flightTo`.
 * Null: it cannot be asked.
 */
export async function askAbout(
  { outlet, receiver, connection }: Asking,
  row: OutletRow,
  flightTo: number,
  signal: AbortSignal,
): Promise<((event: UsageEvent) => Verdict) | null> {
  const verdicts = new Map<string, Verdict>();
  for (const period of periodsAfterCursor(connection, row.cursor, flightTo)) {
    if (period < row.fromPeriod) continue;
    const asked = { outlet: row.name, period, workspaces: workspacesOf(row) };
    const without = byCustomer(await sentSums(connection, { ...asked, upTo: row.cursor }), outlet);
    const withIt = byCustomer(await sentSums(connection, { ...asked, upTo: flightTo }), outlet);
    const there = await receiver.usage(period, [...withIt.keys()], signal);
    if (there === null) return null;
    for (const [customer, { quantity }] of withIt) {
      const has = plain(there.get(customer));
      const before = without.get(customer)?.quantity ?? 0n;
      const unclear = `it was perhaps sent: the receiver has ${has} of ${period}, the ledger ${before} without and ${quantity} with what was perhaps sent`;
      const verdict = has === String(quantity) ? 'there' : has === String(before) ? 'absent' : { unclear };
      verdicts.set(`${period} ${customer}`, verdict);
    }
  }
  return ({ period, customer }) => verdicts.get(`${period} ${customer}`) ?? 'absent';
}

export interface OutletDifference {
  period: string;
  customer: string;
  ledger: string;
  receiver: string;
  tenants: { workspace_id: string; tenant_id: string }[];
  /** The last entries that make it up, the latest first. */
  entry_ids: number[];
}

export interface OutletCheck {
  /** Null: the receiver cannot be asked. */
  customers: number | null;
  differences: OutletDifference[];
}

/** Compares what the receiver has of a month with what the ledger has sent it, by customer. */
export async function checkOutlet(
  { outlet, receiver, connection }: Asking,
  period: string,
  signal: AbortSignal,
): Promise<OutletCheck> {
  const row = readOutlet(connection, outlet.name);
  if (row === undefined || period < row.fromPeriod) return { customers: 0, differences: [] };
  const asked = { outlet: row.name, period, upTo: row.cursor, workspaces: workspacesOf(row) };
  const ours = byCustomer(await sentSums(connection, asked), outlet);
  const theirs = await receiver.usage(period, [...ours.keys()], signal);
  if (theirs === null) return { customers: null, differences: [] };
  const differences: OutletDifference[] = [];
  for (const customer of new Set([...ours.keys(), ...theirs.keys()])) {
    const { quantity, tenants } = ours.get(customer) ?? { quantity: 0n, tenants: [] };
    const has = plain(theirs.get(customer));
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
 * The entries among events that the receiver refused after it had taken them, by their ids with why: those of customers and
 * months of which it lacks something. A report outlives what was done about it, and an event that was sent again since and
 * is there must not be sent once more: by then the receiver may have forgotten its id.
 */
export async function findRefused(
  { ledgerId, ...asking }: Asking & { ledgerId: string },
  refused: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<Omit<OutletException, 'state'>[]> {
  const { outlet, connection } = asking;
  const found = [...refused].flatMap(([id, reason]) => {
    const entryId = entryOf(id, ledgerId);
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

const ENTRIES_OF_A_DIFFERENCE = 20;

function lastEntries(connection: LedgerDb, { periodKey, tenantKey }: SentSum, upTo: number): number[] {
  return connection
    .prepare(
      `SELECT entry_id FROM usage_entries WHERE period_key = ? AND tenant_key = ? AND entry_id <= ?
       ORDER BY entry_id DESC LIMIT ?`,
    )
    .pluck()
    .all(periodKey, tenantKey, upTo, ENTRIES_OF_A_DIFFERENCE) as number[];
}

function workspacesOf({ workspaces }: OutletRow): readonly string[] | null {
  return workspaces === null ? null : (JSON.parse(workspaces) as string[]);
}

/** Several tenants may be one customer there. */
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

/** A whole number of a receiver that keeps decimals, as the ledger writes it. */
function plain(text: string | undefined): string {
  const number = (text ?? '0').replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
  return number === '' || number === '-0' ? '0' : number;
}
