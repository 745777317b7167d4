import { summarizeError } from '../core/errors.ts';
import { ageMs } from '../core/stored-time.ts';
import { counted } from '../core/text/words.ts';
import { findLink } from '../ledger/journal/chain.ts';
import { headOfChain } from '../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import type { PublishTarget } from './in-postgres.ts';
import { requirePermissions } from './refusals.ts';
import { inCopySchema } from './schema.ts';

/** How far a copy in Postgres is behind the ledger. */
export interface PublishLag {
  /** Number of links of the digest chain (runs, closes, reopens and other recorded acts) that are not published yet. */
  links: number;
  /** Age of the first link that is not published yet, in seconds; 0 if all links are published. */
  seconds: number;
}

export interface CopyStatus {
  /** The position of the last published link in the chain; null if it is unknown. */
  position: number | null;
  lag: PublishLag;
  /** Why the position is unknown; null if it is known. */
  fault: { code: string; message: string; hint: string } | null;
}

/**
 * Returns the lag of a copy; `position` is its last published link. If the position is unknown (null), returns a lag of
 * zero.
 */
export function readPublishLag(connection: LedgerDb, position: number | null, nowMs: number): PublishLag {
  if (position === null) return { links: 0, seconds: 0 };
  const links = Math.max(0, headOfChain(connection).seq - position);
  // Links whose recorded time is in the future are skipped, because their age is unknown.
  for (let seq = position + 1; seq <= position + links; seq += 1) {
    const at = findLink(connection, seq)?.at ?? null;
    const waitedMs = at === null ? null : ageMs(Date.parse(at), nowMs);
    if (waitedMs !== null) return { links, seconds: Math.round(waitedMs / 1000) };
  }
  return { links, seconds: 0 };
}

/**
 * Reads the status of the copy and checks that Postgres accepts writes. Never rejects: an error becomes the `fault`.
 */
export async function readCopyStatus(target: PublishTarget, connection: LedgerDb, nowMs: number): Promise<CopyStatus> {
  try {
    const position = await inCopySchema(target, connection, async (client) => {
      await requirePermissions(client, target.schema);
      // This statement inserts no row, but it fails if the server is read-only.
      await client.query('INSERT INTO usage_entries SELECT * FROM usage_entries WHERE false');
      const sql = 'SELECT position FROM ledgers WHERE ledger_id = $1';
      const { rows } = await client.query<{ position: bigint }>(sql, [ledgerId(connection)]);
      return Number(rows[0]?.position ?? 0);
    });
    return { position, lag: readPublishLag(connection, position, nowMs), fault: null };
  } catch (error) {
    const { code, message, hint = 'check the log of Postgres' } = summarizeError(error);
    return { position: null, lag: readPublishLag(connection, null, nowMs), fault: { code, message, hint } };
  }
}

/** Describes the status in one line, such as `at link 12, up to date`. */
export function describeCopyStatus({ position, lag, fault }: CopyStatus): string {
  if (fault !== null) return fault.message;
  if (lag.links === 0) return `at link ${position}, up to date`;
  const pending = counted(lag.links, 'link pending', 'links pending');
  return `at link ${position}, ${pending} for up to ${lag.seconds} s`;
}
