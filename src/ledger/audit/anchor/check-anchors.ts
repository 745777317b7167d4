import type { KeyObject } from 'node:crypto';
import { hasLink, linkAt } from '../../journal/links.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { periodEvents } from '../../store/schema/billing-tables.ts';
import { and, asc, eq, gt, query } from '../../store/schema/drizzle.ts';
import { ledgerId } from '../../store/schema/identity.ts';
import { type Check, FAULTS_A_CHECK, type Fault, fault } from '../verify/fault.ts';
import { formatKey, isSignedBy, parseCheckpoint } from './checkpoint-log.ts';

/** The chain holds the link whose digest was once kept elsewhere: nothing up to it was rewritten since. */
export function expectHead(digest: string): Check {
  return (connection) => {
    if (hasLink(connection, digest)) return [];
    return [
      fault(
        'anchor',
        `no link of the chain has the digest ${digest}: it was cut off, or rewritten from some link up to that one on`,
      ),
    ];
  };
}

/** Each line is a checkpoint that is signed by that key, is of this ledger, and says what the chain holds at its position. */
export function expectCheckpoints(lines: readonly string[], key: KeyObject | null): Check {
  return (connection) => {
    const id = ledgerId(connection);
    const faults: Fault[] = [];
    for (const line of lines) {
      const message = checkpointFault(connection, line, { id, key });
      if (message !== null && faults.push(fault('anchor', message)) === FAULTS_A_CHECK) break;
    }
    return faults;
  };
}

function checkpointFault(
  connection: LedgerDb,
  line: string,
  { id, key }: { id: string; key: KeyObject | null },
): string | null {
  const checkpoint = parseCheckpoint(line);
  if (checkpoint === null) return `what begins with ${JSON.stringify(line.slice(0, 60))} is no checkpoint`;
  const { seq, digest, ledgerId, at } = checkpoint;
  const which = `the checkpoint of link ${seq} (${at})`;
  if (ledgerId !== id) return `${which} is of another ledger, ${ledgerId}`;
  if (key !== null && !isSignedBy(checkpoint, key)) return `${which} is not signed by the key ${formatKey(key)}`;
  const found = linkAt(connection, seq)?.digest;
  if (found === digest) return null;
  if (found === undefined) return `${which} lies behind the end of the chain: links were cut off`;
  return `${which} says ${digest}, the chain holds ${found}: history was rewritten`;
}

export interface LaterEvent {
  action: 'close' | 'reopen';
  at: string;
  actor: string;
}

/** What has happened to a period since the close with this digest, oldest first; null when the ledger has no such close. */
export function eventsSinceClose(connection: LedgerDb, digest: string): LaterEvent[] | null {
  const db = query(connection);
  const close = db
    .select()
    .from(periodEvents)
    .where(and(eq(periodEvents.digest, digest), eq(periodEvents.action, 'close')))
    .get();
  if (close === undefined) return null;
  return db
    .select()
    .from(periodEvents)
    .where(and(eq(periodEvents.periodKey, close.periodKey), gt(periodEvents.eventSeq, close.eventSeq)))
    .orderBy(asc(periodEvents.eventSeq))
    .all()
    .map(({ action, at, actor }) => ({ action, at, actor }));
}
