import type { KeyObject } from 'node:crypto';
import { findLink, hasLink } from '../../journal/chain.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { periodEvents } from '../../store/schema/billing-tables.ts';
import { and, asc, eq, gt, query } from '../../store/schema/drizzle.ts';
import { ledgerId } from '../../store/schema/identity.ts';
import { type Check, FAULTS_PER_CHECK, type Fault, fault } from '../verify/fault.ts';
import { formatPublicKey, isSignedBy, parseCheckpoint } from './checkpoint-log.ts';

/** Evidence that was kept outside the ledger, and that the ledger must agree with. Each kind is optional. */
export interface ExternalAnchors {
  /** A digest that the chain must contain. */
  head?: string | undefined;
  /** Lines of a checkpoint log. */
  checkpoints?: readonly string[] | undefined;
  /** The public key that must have signed the checkpoints; if absent, the key of the ledger itself. */
  checkpointKey?: KeyObject | undefined;
}

/**
 * Returns a check for each piece of external evidence. `isSigned` is false if no key exists, so that signatures are not
 * checked.
 */
export function createAnchorChecks(
  { head, checkpoints, checkpointKey }: ExternalAnchors,
  localKey: KeyObject | null,
): { checks: Check[]; isSigned: boolean } {
  const key = checkpointKey ?? localKey;
  const checks: Check[] = [];
  if (head !== undefined) checks.push(createHeadCheck(head));
  if (checkpoints !== undefined) checks.push(createCheckpointsCheck(checkpoints, key));
  return { checks, isSigned: key !== null };
}

/**
 * Returns a check that the chain contains a link with this digest. If the digest was kept outside the ledger, nothing
 * up to that link was rewritten.
 */
export function createHeadCheck(digest: string): Check {
  return (connection) => {
    if (hasLink(connection, digest)) return [];
    return [
      fault(
        'anchor',
        `no link of the chain has the digest ${digest}: links were removed, or history was rewritten from that link or an earlier one`,
      ),
    ];
  };
}

/**
 * Returns a check that each line is a checkpoint of this ledger, is signed by the key, and has the digest of the chain
 * at the checkpoint's position.
 */
export function createCheckpointsCheck(lines: readonly string[], key: KeyObject | null): Check {
  return (connection) => {
    const id = ledgerId(connection);
    const faults: Fault[] = [];
    for (const line of lines) {
      const message = checkpointFault(connection, line, { id, key });
      if (message !== null && faults.push(fault('anchor', message)) === FAULTS_PER_CHECK) break;
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
  if (checkpoint === null) return `the line starting with ${JSON.stringify(line.slice(0, 60))} is not a checkpoint`;
  const { seq, digest, ledgerId, at } = checkpoint;
  const which = `the checkpoint of link ${seq} (${at})`;
  if (ledgerId !== id) return `${which} belongs to another ledger, ${ledgerId}`;
  if (key !== null && !isSignedBy(checkpoint, key)) return `${which} is not signed by the key ${formatPublicKey(key)}`;
  const found = findLink(connection, seq)?.digest;
  if (found === digest) return null;
  if (found === undefined) return `${which} is beyond the end of the chain: links were removed`;
  return `${which} has ${digest}, the chain has ${found}: history was rewritten`;
}

export interface LaterPeriodEvent {
  action: 'close' | 'reopen';
  at: string;
  actor: string;
}

/**
 * Lists the events (closes and reopens) of a period after the close with this digest, oldest first; null when the
 * ledger has no such close.
 */
export function eventsSinceClose(connection: LedgerDb, digest: string): LaterPeriodEvent[] | null {
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
