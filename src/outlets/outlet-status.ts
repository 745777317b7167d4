import type { OutletConfig } from '../config/types.ts';
import { counted, withThousands } from '../core/text/words.ts';
import { countExceptions, type OutletEventState, readOutlets } from '../ledger/journal/outlets/outlet-book.ts';
import { lastEntryId } from '../ledger/journal/outlets/read-entries.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { quantityOf } from './events.ts';
import { reasonNotSending } from './forwarder.ts';

export interface OutletStatus {
  name: string;
  type: OutletConfig['type'];
  send: OutletConfig['send'];
  state: 'sending' | 'paused' | 'not_started' | 'differs';
  /** Why the outlet is not sending; null while it is. */
  reason: string | null;
  fromPeriod: string | null;
  /** Number of ledger entries that the outlet has not processed yet. */
  waiting: number;
  /**
   * The number and total quantity of the exceptions, by state. An exception is an event that was not sent or was
   * refused.
   */
  events: Record<OutletEventState, { events: number; quantity: bigint }>;
  checkedAt: string | null;
  /**
   * The differences that the last comparison with the receiver found. Null if it found none, and if there was no
   * comparison.
   */
  differences: readonly unknown[] | null;
}

/** Reads the status of the configured outlets from the ledger. */
export function readOutletStatuses(connection: LedgerDb, outlets: readonly OutletConfig[]): OutletStatus[] {
  if (outlets.length === 0) return [];
  const started = new Map(readOutlets(connection).map((row) => [row.name, row]));
  const counts = countExceptions(connection);
  const last = lastEntryId(connection);
  return outlets.map((outlet) => {
    const { name, type, send } = outlet;
    const row = started.get(name);
    const of = (state: OutletEventState) => {
      const found = counts.find((count) => count.outlet === name && count.state === state);
      return { events: found?.events ?? 0, quantity: found === undefined ? 0n : quantityOf(found, outlet) };
    };
    const differs = row === undefined ? null : reasonNotSending(row, outlet);
    const state =
      row === undefined ? 'not_started' : row.paused !== null ? 'paused' : differs === null ? 'sending' : 'differs';
    const differences = row?.differences == null ? null : (JSON.parse(row.differences) as unknown[]);
    return {
      name,
      type,
      send,
      state,
      reason: row === undefined ? 'not started' : (row.reason ?? differs),
      fromPeriod: row?.fromPeriod ?? null,
      waiting: row === undefined ? 0 : Math.max(0, last - row.cursor),
      events: { held: of('held'), late: of('late'), refused: of('refused'), settled: of('settled') },
      checkedAt: row?.checkedAt ?? null,
      differences,
    };
  });
}

/**
 * Describes the problems of an outlet; null if there are none. It is not a problem if a person paused the outlet, or if
 * the outlet was not started.
 */
export function describeOutletProblems(status: OutletStatus, isByHand: boolean): string | null {
  const { state, reason, send, events, differences } = status;
  const exceptions = (['late', 'refused', 'held'] as const).flatMap((name) => {
    const { events: number, quantity } = events[name];
    const total = `${counted(number, 'event')} (${withThousands(String(quantity))} ${send})`;
    return number === 0 ? [] : [`${total} ${EXCEPTION_LABELS[name]}`];
  });
  const parts = [
    ...((state === 'paused' && !isByHand) || state === 'differs' ? [`not sending: ${reason}`] : []),
    ...exceptions,
    ...(differences === null
      ? []
      : [counted(differences.length, 'customer differs from the ledger', 'customers differ from the ledger')]),
  ];
  return parts.length === 0 ? null : parts.join('; ');
}

/** Describes the status of an outlet in one line. */
export function describeOutletStatus(status: OutletStatus): string {
  const { state, waiting } = status;
  const how =
    state === 'not_started'
      ? 'not started'
      : waiting === 0
        ? 'up to date'
        : `${withThousands(String(waiting))} waiting`;
  return describeOutletProblems(status, false) ?? how;
}

const EXCEPTION_LABELS = {
  late: 'too old for the receiver',
  refused: 'refused',
  held: 'held: tenants have no name at the receiver',
} as const;
