import { summarizeError } from '../../core/errors.ts';
import { counted } from '../../core/text/counted.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { connectReplica, type ReplicaSettings, type ReplicaWay } from '../connect.ts';
import { type Lag, lagOf } from '../lag.ts';
import { replicaDrift } from '../replica/migrate-replica.ts';
import { isUnpublished } from '../replica-error.ts';
import { findReplica, readLocal, requireSameCopy } from '../send/position.ts';
import { findUncounted } from './find-holder.ts';
import { tryWriting } from './try-writing.ts';

/** How the replica stands to the ledger at hand. */
export interface ReplicaStanding {
  /** The link of the chain that it holds; null when nothing of this ledger has been published, or nobody knows. */
  position: number | null;
  lag: Lag;
  /** What its schema has otherwise than this version makes it, in words. */
  drift: readonly string[];
  /** Its workspaces that count in another ledger, in words. */
  uncounted: readonly string[];
  /** Why it is not known, or why this copy may not publish; null when all is well. */
  fault: { code: string; message: string; hint: string } | null;
}

/** Asks the replica; `writes`: tries also whether it could be published to. Never rejects. */
export async function probeReplica(
  settings: ReplicaSettings,
  connection: LedgerConnection,
  nowMs: number,
  { writes = false, way }: { writes?: boolean; way?: ReplicaWay } = {},
): Promise<ReplicaStanding> {
  const nothing: ReplicaStanding = {
    position: null,
    lag: lagOf(connection, 0, nowMs),
    drift: [],
    uncounted: [],
    fault: null,
  };
  try {
    const client = await connectReplica(settings, way);
    try {
      const drift = await replicaDrift(client);
      if (drift.some((words) => words.startsWith('table'))) return { ...nothing, drift };
      const held = await findReplica(client, ledgerId(connection));
      if (held === null) return nothing;
      const uncounted = drift.length > 0 ? [] : await findUncounted(client, held.ledgerKey);
      const lag = lagOf(connection, held.position, nowMs);
      const standing = { position: held.position, lag, drift, uncounted, fault: null };
      try {
        requireSameCopy(connection, readLocal(connection), held);
        if (writes) await tryWriting(client);
        return standing;
      } catch (error) {
        return { ...standing, fault: faultOf(error) };
      }
    } finally {
      await client.close();
    }
  } catch (error) {
    return isUnpublished(error) ? nothing : { ...nothing, fault: faultOf(error) };
  }
}

/** In a few words, such as `holds link 12, nothing waits`. */
export function describeReplica({ position, lag, fault }: ReplicaStanding): string {
  if (fault !== null) return fault.message;
  const waiting =
    lag.links === 0
      ? 'nothing waits'
      : `${counted(lag.links, 'link waits', 'links wait')}, the first for ${lag.seconds} s`;
  return position === null ? `holds nothing of this ledger yet, ${waiting}` : `holds link ${position}, ${waiting}`;
}

function faultOf(error: unknown): NonNullable<ReplicaStanding['fault']> {
  const { code, message, hint } = summarizeError(error);
  return { code, message, hint: hint ?? 'the log of Postgres may say more' };
}
