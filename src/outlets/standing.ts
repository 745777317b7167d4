import type { OutletConfig } from '../config/types.ts';
import { counted, withThousands } from '../core/text/words.ts';
import { type EventState, exceptionCounts, readOutlets } from '../ledger/journal/outlets/outlet-book.ts';
import { lastEntryId } from '../ledger/journal/outlets/read-entries.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { quantityOf } from './events.ts';
import { whyNotSent } from './sweep.ts';

export interface OutletStanding {
  name: string;
  type: OutletConfig['type'];
  send: OutletConfig['send'];
  state: 'sending' | 'paused' | 'not_begun' | 'differs';
  /** Why it does not send; null: it does. */
  reason: string | null;
  fromPeriod: string | null;
  /** Entries of the ledger that were not looked at yet. */
  waiting: number;
  /** Of what the receiver does not have from us: events, and what they come to. */
  events: Record<EventState, { events: number; quantity: bigint }>;
  checkedAt: string | null;
  /** What the last comparison has found; null: nothing, or there was none. */
  differences: readonly unknown[] | null;
}

/** How the outlets of a configuration stand, by the ledger. */
export function outletStandings(connection: LedgerDb, outlets: readonly OutletConfig[]): OutletStanding[] {
  if (outlets.length === 0) return [];
  const begun = new Map(readOutlets(connection).map((row) => [row.name, row]));
  const counts = exceptionCounts(connection);
  const last = lastEntryId(connection);
  return outlets.map((outlet) => {
    const { name, type, send } = outlet;
    const row = begun.get(name);
    const of = (state: EventState) => {
      const found = counts.find((count) => count.outlet === name && count.state === state);
      return { events: found?.events ?? 0, quantity: found === undefined ? 0n : quantityOf(found, outlet) };
    };
    const differs = row === undefined ? null : whyNotSent(row, outlet);
    const state =
      row === undefined ? 'not_begun' : row.paused !== null ? 'paused' : differs === null ? 'sending' : 'differs';
    const differences = row?.differences == null ? null : (JSON.parse(row.differences) as unknown[]);
    return {
      name,
      type,
      send,
      state,
      reason: row === undefined ? 'it was not begun' : (row.reason ?? differs),
      fromPeriod: row?.fromPeriod ?? null,
      waiting: row === undefined ? 0 : Math.max(0, last - row.cursor),
      events: { held: of('held'), late: of('late'), refused: of('refused'), settled: of('settled') },
      checkedAt: row?.checkedAt ?? null,
      differences,
    };
  });
}

/** What somebody has to see to, in words; null: nothing. A pause by hand and one that was not begun are no news. */
export function troubleOf(standing: OutletStanding, isByHand: boolean): string | null {
  const { state, reason, send, events, differences } = standing;
  const exceptions = (['late', 'refused', 'held'] as const).flatMap((name) => {
    const { events: number, quantity } = events[name];
    const what = `${counted(number, 'event')} of ${withThousands(String(quantity))} ${send}`;
    return number === 0 ? [] : [`${what} ${EXCEPTION_WORDS[name]}`];
  });
  const parts = [
    ...((state === 'paused' && !isByHand) || state === 'differs' ? [`nothing is sent: ${reason}`] : []),
    ...exceptions,
    ...(differences === null
      ? []
      : [`${counted(differences.length, 'customer differs', 'customers differ')} from what was sent`]),
  ];
  return parts.length === 0 ? null : parts.join('; ');
}

/** How it stands, in a line for people. */
export function describeOutlet(standing: OutletStanding): string {
  const { state, waiting } = standing;
  const how =
    state === 'not_begun' ? 'not begun' : waiting === 0 ? 'nothing waits' : `${withThousands(String(waiting))} wait`;
  return troubleOf(standing, false) ?? how;
}

const EXCEPTION_WORDS = {
  late: 'too late for the receiver',
  refused: 'refused',
  held: 'held, for tenants without a name there',
} as const;
