import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { faultOf, type SuspectFile, verifySound } from '../../ledger/audit/verify/verify-sound.ts';
import { withRemedy } from '../../ledger/store/file/ledger-file.ts';
import { refuseDanglingLink } from '../../ledger/store/file/place.ts';
import { inWorkFolder } from '../../ledger/store/file/work-folder.ts';
import { setReplicaEpoch } from '../../ledger/store/schema/identity.ts';
import { exchangeLedger, type ReplacedLedger } from '../../ledger/transfer/backup/replace-ledger.ts';
import type { ReplicaClient } from '../connect.ts';
import { ReplicaError } from '../replica-error.ts';
import type { ReplicaState } from '../send/position.ts';
import { rebuildLedger } from './rebuild-ledger.ts';

export interface ReplicaRestoreOrder {
  client: ReplicaClient;
  ledgerId: string;
  ledgerPath: string;
  /** Also in the place of another ledger. */
  replaceOther: boolean;
  /** Of this program. */
  version: string;
  nowMs: number;
  signal: AbortSignal;
}

export interface ReplicaRestoreReport {
  runs: number;
  entries: number;
  headDigest: string;
  position: number;
  /** When the last link was made that the replica holds; what came after it is asked of the service again. */
  headAt: string;
  replaced: ReplacedLedger | null;
}

/**
 * Rebuilds a ledger from the replica alone, checks it as `verify` would, takes its place at the replica, and puts it in
 * the place of the ledger file. From then on every older copy is refused there: it may publish nothing, and its daemon
 * notifies nobody.
 */
export async function restoreFromReplica(order: ReplicaRestoreOrder): Promise<ReplicaRestoreReport> {
  const { client, signal, nowMs, replaceOther, ledgerId } = order;
  refuseDanglingLink(order.ledgerPath);
  const ledgerPath = existsSync(order.ledgerPath) ? realpathSync(order.ledgerPath) : order.ledgerPath;
  const suspect: SuspectFile = {
    what: 'what the replica holds',
    hint: '`usage-ledger verify --replica` on a machine with the ledger names the difference; the ledger here was not touched',
  };
  try {
    mkdirSync(dirname(ledgerPath), { recursive: true, mode: 0o700 });
    return await inWorkFolder(`${ledgerPath}.restoring-`, async (folder) => {
      const file = join(folder, 'ledger.db');
      const { held } = await rebuildLedger({ ...order, file });
      const { runs, entries, headDigest } = verifyCopy(file, suspect);
      if (headDigest !== held.headDigest) {
        throw new ReplicaError(
          'replica_faulty',
          `the replica says head ${held.headDigest}, its links end with ${headDigest}`,
        );
      }
      signal.throwIfAborted();
      const epoch = await takePlace(client, held);
      noteEpoch(file, epoch);
      const replaced = await exchangeLedger(file, ledgerPath, { ledgerId, replaceOther, nowMs });
      return { runs, entries, headDigest, position: held.position, headAt: held.headAt, replaced };
    });
  } catch (error) {
    throw withRemedy(faultOf(error, suspect), `cannot restore ${ledgerPath}`);
  }
}

function verifyCopy(file: string, suspect: SuspectFile) {
  const connection = new Database(file, { readonly: true });
  try {
    return verifySound(connection, suspect);
  } finally {
    connection.close();
  }
}

/** Fences every other copy off, provided that none of them has published since. */
async function takePlace(
  client: ReplicaClient,
  { ledgerKey, position, headDigest, epoch }: ReplicaState,
): Promise<number> {
  const [taken] = await client.query<{ epoch: bigint }>(
    `UPDATE ledgers SET epoch = epoch + 1 WHERE ledger_key = $1 AND position = $2 AND head_digest = $3 AND epoch = $4
     RETURNING epoch`,
    [ledgerKey, position, headDigest, epoch],
  );
  if (taken !== undefined) return Number(taken.epoch);
  throw new ReplicaError('replica_moved', 'the ledger has been published from elsewhere meanwhile', {
    retryable: true,
    hint: 'stop the other machine if it is to be given up, and try again',
  });
}

function noteEpoch(file: string, epoch: number): void {
  const connection = new Database(file);
  try {
    setReplicaEpoch(connection, epoch);
  } finally {
    connection.close();
  }
}
