import { isoTime } from '../../core/clock.ts';
import type { Redactor } from '../../core/text/redact.ts';
import type { CheckpointLog } from '../../ledger/audit/anchor/checkpoint-log.ts';
import type { Claimant, ClaimedRun } from '../../ledger/journal/runs/claim-run.ts';
import type { RunStaging } from '../../ledger/journal/staging/staging.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';

/** What commands work with: the one connection that writes, and what lives as long as it does. */
export interface Desk {
  readonly connection: LedgerConnection;
  /** Takes secrets out of what a page says before it becomes an error. */
  readonly redact: Redactor;
  /** Absent where nobody keeps heads elsewhere. */
  readonly checkpoints: CheckpointLog | null;
  readonly claimant: Claimant;
  /** Runs under way, by their keys. */
  readonly runs: Map<number, OpenRun>;
}

export interface OpenRun {
  run: ClaimedRun;
  staging: RunStaging;
}

/**
 * Something that writes to the ledger. It is carried out at once, between no others. Arguments and results cross threads,
 * so they are plain data; the time comes with them, because the caller owns the clock.
 */
export type Command<Args, Result> = (desk: Desk, args: Args) => Result;

/** A command that needs the connection only. */
export function onConnection<Args, Result>(
  work: (connection: LedgerConnection, args: Args) => Result,
): Command<Args, Result> {
  return ({ connection }, args) => work(connection, args);
}

/** What came of the checkpoint of a new head. */
export interface Noted {
  /** Why it could not be written; null when it was. */
  checkpointFault: string | null;
}

/** Leaves a signed checkpoint of a head that has been committed. */
export function noteHead({ checkpoints }: Desk, seq: number, digest: string, nowMs: number): Noted {
  return { checkpointFault: checkpoints?.note({ seq, digest, at: isoTime(nowMs) }) ?? null };
}
