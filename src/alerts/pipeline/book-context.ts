import type { CreditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import type { ChannelRoute } from './route.ts';

export interface BookContext {
  connection: LedgerDb;
  /** Null, like its id, for the ledger as a whole. */
  workspaceKey: number | null;
  workspaceId: string | null;
  runKey: number | null;
  runId: string | null;
  /** `run`, `timer`, or a person. */
  actor: string;
  /** The first sync of a workspace records what it finds and tells nobody. */
  seeding: boolean;
  /** The workspace is being ended: what was open is over because nobody reads it any more. */
  ending?: boolean;
  at: string;
  nowMs: number;
  /** The channels that are notified. */
  routes: readonly ChannelRoute[];
  /** What credits cost; absent where alerts carry no money. */
  priceOf?: CreditPricer | null;
}
