import type { PackedError } from '../../core/crossing-errors.ts';
import type { ReplicaSettings } from '../connect.ts';
import type { PublishReport } from '../send/publish-ledger.ts';

/** What the thread is started with. */
export interface PublisherStart {
  settings: ReplicaSettings;
  ledgerPath: string;
  /** Ids of workspaces that the configuration leaves to other machines. */
  elsewhere: readonly string[];
}

/** Asks for one publish. */
export interface PublishRequest {
  id: number;
  nowMs: number;
}

export type PublishReply = { id: number; report: PublishReport } | { id: number; error: PackedError };
