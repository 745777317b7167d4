import type { ChannelRoute } from '../alerts/track/routes.ts';
import { isoTime } from '../core/clock.ts';
import { type PackedError, packError } from '../core/errors.ts';
import { createRedactor, type Redactor } from '../core/text/redact.ts';
import { CheckpointLog, keyFileOf, linkKeyOf } from '../ledger/audit/anchor/checkpoint-log.ts';
import type { ClaimedRun, LeaseHolder } from '../ledger/journal/runs/claim-run.ts';
import type { FiguresAhead } from '../ledger/journal/runs/known-figures.ts';
import type { RunStaging } from '../ledger/journal/staging/staging.ts';
import { closeForWriting, openForWriting } from '../ledger/store/file/open.ts';
import { ledgerErrorOf } from '../ledger/store/file/sqlite-errors.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import { type MigrationReport, migrateLedger } from '../ledger/store/schema/migrate.ts';

export interface WriterStart {
  path: string;
  version: string;
  nowMs: number;
  /** What a ledger that is made now is called; by chance when absent. */
  newLedgerId?: string;
  /** What must not stand in any error, though the service may send it. */
  secrets?: readonly string[];
  /** Where the key lies that signs checkpoints; beside the ledger when it is absent. */
  checkpointKeyFile?: string | undefined;
  /** The channels of this process, by which it tells. */
  routes?: readonly ChannelRoute[];
  /** The group that may read the ledger; none but its user when absent. */
  readerGroup?: string | undefined;
}

/** What commands work with: the one connection that writes, and what lives as long as it does. */
export interface Session {
  readonly connection: LedgerDb;
  /** The channels of this process. Alerts go where the process that evaluates them is configured to send them. */
  routes: readonly ChannelRoute[];
  /** Takes secrets out of what a page says before it becomes an error. */
  redact: Redactor;
  /** Absent where nobody keeps heads elsewhere. */
  readonly checkpoints: CheckpointLog | null;
  /** Where the key lies that signs checkpoints and links. */
  readonly keyFile: string | null;
  readonly claimant: LeaseHolder;
  /** Another thread that reads along, where there is one. */
  readonly ahead: FiguresAhead | null;
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
export type Command<Args, Result> = (session: Session, args: Args) => Result;

/** A command that needs the connection only. */
export function onConnection<Args, Result>(work: (connection: LedgerDb, args: Args) => Result): Command<Args, Result> {
  return ({ connection }, args) => work(connection, args);
}

export interface Recorded {
  checkpointFault: string | null;
}

/** Leaves a signed checkpoint of a head that has been committed. */
export function recordHead({ checkpoints }: Session, seq: number, digest: string, nowMs: number): Recorded {
  return { checkpointFault: checkpoints?.note({ seq, digest, at: isoTime(nowMs) }) ?? null };
}

export function openSession(
  start: WriterStart,
  claimant: LeaseHolder = {},
  ahead: FiguresAhead | null = null,
): { session: Session; migration: MigrationReport } {
  const connection = openForWriting(start.path, start.readerGroup);
  try {
    connection.pragma('cache_size = -32768');
    connection.pragma('temp_store = MEMORY');
    connection.pragma('journal_size_limit = 16777216');
    const migration = migrateLedger(connection, start.path, start.version, start.nowMs, start.newLedgerId);
    const keyFile = start.checkpointKeyFile ?? keyFileOf(start.path);
    const routes = signing(start.routes ?? [], keyFile);
    const checkpoints = new CheckpointLog(start.path, {
      keyFile,
      ledgerId: ledgerId(connection),
      alone: (work) => connection.transaction(work).immediate(),
    });
    const redact = createRedactor(start.secrets ?? []);
    return {
      session: { ...plainSession(connection), routes, redact, checkpoints, keyFile, claimant, ahead },
      migration,
    };
  } catch (error) {
    closeForWriting(connection);
    throw error;
  }
}

/** What a configuration that is read while the process runs changes here. */
export function reconfigureSession(
  session: Session,
  { routes, secrets }: { routes: readonly ChannelRoute[]; secrets: readonly string[] },
): void {
  session.routes = session.keyFile === null ? routes : signing(routes, session.keyFile);
  session.redact = createRedactor(secrets);
}

/** Routes whose messages have links to the pages get what signs them. */
function signing(routes: readonly ChannelRoute[], keyFile: string): ChannelRoute[] {
  return routes.map((route) => {
    const linkKey = route.publicUrl === undefined ? null : linkKeyOf(keyFile);
    return linkKey === null ? route : { ...route, linkKey };
  });
}

/** A session over a ledger that is open already, without channels, secrets and checkpoints. */
export function plainSession(connection: LedgerDb): Session {
  return {
    connection,
    routes: [],
    redact: (text) => text,
    checkpoints: null,
    keyFile: null,
    claimant: {},
    ahead: null,
    runs: new Map(),
  };
}

/** An error of the writer on its way to who gave the command: what SQLite says becomes an error of the ledger. */
export function packWriterError(error: unknown): PackedError {
  return packError(ledgerErrorOf(error) ?? error);
}
