import { summarizeError } from '../core/errors.ts';
import { ageMs } from '../core/stored-time.ts';
import { counted } from '../core/text/words.ts';
import { linkAt } from '../ledger/journal/chain.ts';
import { headOfChain } from '../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import type { PublishTarget } from './in-postgres.ts';
import { requireRights } from './refusals.ts';
import { inCopy } from './schema.ts';

export interface Lag {
  links: number;
  /** Since when the first of them has waited; 0 when none does. */
  seconds: number;
}

export interface CopyStanding {
  /** The link of the chain that it holds; null when nobody knows. */
  position: number | null;
  lag: Lag;
  /** Why it is not known; null when it is. */
  fault: { code: string; message: string; hint: string } | null;
}

/** The lag of a copy that holds the links up to a position; null: nobody knows. */
export function lagOf(connection: LedgerDb, position: number | null, nowMs: number): Lag {
  if (position === null) return { links: 0, seconds: 0 };
  const links = Math.max(0, headOfChain(connection).seq - position);
  // The first whose time is known: one of the future says nothing of its age.
  for (let seq = position + 1; seq <= position + links; seq += 1) {
    const at = linkAt(connection, seq)?.at ?? null;
    const waitedMs = at === null ? null : ageMs(Date.parse(at), nowMs);
    if (waitedMs !== null) return { links, seconds: Math.round(waitedMs / 1000) };
  }
  return { links, seconds: 0 };
}

/** Asks Postgres, and whether it takes what is published. Never rejects. */
export async function standingOf(target: PublishTarget, connection: LedgerDb, nowMs: number): Promise<CopyStanding> {
  try {
    const position = await inCopy(target, connection, async (client) => {
      await requireRights(client, target.schema);
      // A server that only reads refuses it.
      await client.query('INSERT INTO usage_entries SELECT * FROM usage_entries WHERE false');
      const sql = 'SELECT position FROM ledgers WHERE ledger_id = $1';
      const { rows } = await client.query<{ position: bigint }>(sql, [ledgerId(connection)]);
      return Number(rows[0]?.position ?? 0);
    });
    return { position, lag: lagOf(connection, position, nowMs), fault: null };
  } catch (error) {
    const { code, message, hint = 'the log of Postgres may say more' } = summarizeError(error);
    return { position: null, lag: lagOf(connection, null, nowMs), fault: { code, message, hint } };
  }
}

/** In a few words, such as `holds link 12, nothing waits`. */
export function describeStanding({ position, lag, fault }: CopyStanding): string {
  if (fault !== null) return fault.message;
  if (lag.links === 0) return `holds link ${position}, nothing waits`;
  const waiting = counted(lag.links, 'link waits', 'links wait');
  return `holds link ${position}, ${waiting}, the first for ${lag.seconds} s`;
}
